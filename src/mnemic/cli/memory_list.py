"""`mnemic memories list`: a page of memories, or counts of their values."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.text import Text

from mnemic.cli import memory_list_options as options
from mnemic.cli.empty_lists import reason_for_empty
from mnemic.cli.opening import memory_from
from mnemic.cli.options import Channel, DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.cli.recall_options import Categories, Conversation, Since, Tags, Until
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import MemoryRecord
from mnemic.types.memory_list import MemoryCount, MemoryFacets


def list_memories(
    owner: Owner = None,
    channel: Channel = None,
    category: Categories = None,
    status: options.Statuses = None,
    tag: Tags = None,
    conversation: Conversation = None,
    since: Since = None,
    until: Until = None,
    forgotten: options.Forgotten = False,
    q: options.Words = None,
    memory_id: options.Ids = None,
    source: options.Sources = None,
    role: options.Roles = None,
    name: options.Names = None,
    min_confidence: options.MinConfidence = None,
    never_recalled: options.NeverRecalled = False,
    as_of: options.AsOf = None,
    order: options.Order = "newest",
    facets: options.Facets = False,
    before: options.Before = None,
    limit: options.Limit = 20,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List memories, newest first, or with --facets count them and their values."""
    filters = {
        "q": q,
        "ids": memory_id,
        "channel": channel,
        "categories": category,
        "statuses": status or ["active"],
        "tags": tag or (),
        "sources": source,
        "roles": role,
        "names": name,
        "conversation": conversation,
        "since": since,
        "until": until,
        "min_confidence": min_confidence,
        "never_recalled": never_recalled,
        "include_forgotten": forgotten,
        "as_of": as_of,
    }
    place = memory_from(url, data_dir, tenant, owner=owner)
    if facets:
        asyncio.run(_show_facets(place, filters, json=json))
    else:
        page: dict[str, Any] = {"order": order, "before": before, "limit": limit}
        asyncio.run(_show_page(place, filters | page, json=json))


async def _show_page(place: AsyncMemory, arguments: dict[str, Any], *, json: bool) -> None:
    async with place as memory:
        records = await memory.memories.list(**arguments)
        empty = "" if records else await reason_for_empty(memory, "No memory passes the filters.")
    if json:
        print_json([asdict(record) for record in records])
    elif empty:
        print_line(empty)
    else:
        _print_table(records)


async def _show_facets(place: AsyncMemory, filters: dict[str, Any], *, json: bool) -> None:
    async with place as memory:
        count, facets = await memory.memories.count(**filters), await memory.memories.facets(**filters)
    _print_facets(count, facets, json=json)


def _print_facets(count: MemoryCount, facets: MemoryFacets, *, json: bool) -> None:
    if json:
        print_json({"count": asdict(count), "facets": asdict(facets)})
        return
    print_line(f"{'' if count.is_exact else 'at least '}{count.count:,} memories")
    listing = table("field", "value", "memories")
    for field, values in asdict(facets).items():
        for each in values if isinstance(values, tuple) else ():
            listing.add_row(field, Text(one_line(each["value"])), f"{each['count']:,}")
    out.print(listing)
    if not facets.is_exact:
        print_line(f"Values are counted over the newest {facets.memory_count:,} memories.")


def _print_table(records: Sequence[MemoryRecord]) -> None:
    listing = table("id", "when", "category", "content")
    for record in records:
        when = f"{record.at or record.created_at:%Y-%m-%d}"
        listing.add_row(str(record.memory_id), when, record.category, Text(one_line(record.content)))
    out.print(listing)
