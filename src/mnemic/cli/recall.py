"""`mnemic recall`: find memories for a query, explain the ranking, or print the refusal."""

import asyncio
from dataclasses import asdict, fields, is_dataclass
from typing import Any

from mnemic.cli import recall_options as options
from mnemic.cli.json_options import parse_object
from mnemic.cli.opening import memory_from
from mnemic.cli.options import Channel, DataDir, Embedder, Json, Owner, TenantName, Url
from mnemic.cli.output import out, print_json, remark
from mnemic.cli.recall_output import print_explanations, print_footer, print_found, print_included
from mnemic.errors import InvalidInputError
from mnemic.types.recalled import Recalled


def recall(
    query: options.Query,
    owner: Owner = None,
    limit: options.Limit = 10,
    max_tokens: options.MaxTokens = None,
    category: options.Categories = None,
    tag: options.Tags = None,
    channel: Channel = None,
    channels: options.Channels = None,
    conversation: options.Conversation = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: options.AsOf = None,
    at: options.At = None,
    min_confidence: options.MinConfidence = None,
    status: options.Statuses = None,
    metadata: options.Metadata = None,
    role: options.Role = None,
    name: options.Name = None,
    document: options.Document = None,
    source: options.Source = None,
    min_score: options.MinScore = None,
    refuse_below: options.RefuseBelow = None,
    strict: options.Strict = False,
    technique: options.Techniques = None,
    explain: options.Explain = False,
    no_record: options.NoRecord = False,
    include: options.Includes = None,
    current_conversation: options.CurrentConversation = None,
    text: options.Text = False,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
    all_fields: options.AllFields = False,
) -> None:
    """Find memories for a query, best first. Refuses if nothing is close enough (exit code 0)."""
    if text and (json or explain):
        raise InvalidInputError("--text prints only the text: leave out --json and --explain.")
    asked: dict[str, Any] = {
        "limit": limit,
        "max_tokens": max_tokens,
        "categories": category,
        "tags": tag,
        "channels": channels,
        "conversation": conversation,
        "since": since,
        "until": until,
        "as_of": as_of,
        "at": at,
        "min_confidence": min_confidence,
        "statuses": status,
        "metadata": None if metadata is None else parse_object("--metadata", metadata),
        "role": role,
        "name": name,
        "document": document,
        "source": source,
        "min_score": min_score,
        "refuse_below": refuse_below,
        "strict": strict,
        "techniques": technique,
        "explain": explain or json,
        "record": not no_record,
        "include": include or (),
        "current_conversation": current_conversation,
    }

    async def run() -> tuple[str | None, Recalled]:
        async with memory_from(
            url, data_dir, tenant, owner=owner, channel=channel, embedder=embedder
        ) as memory:
            return memory.owner, await memory.recall(query, **asked)

    reader, found = asyncio.run(run())
    if json:
        print_json(asdict(found) if all_fields else _without_nulls(found))
    elif text:
        _print_text(found)
    else:
        _print_found(found, reader, explain=explain)


def _without_nulls(value: Any) -> Any:
    """A record for JSON, without fields that are None; mappings such as metadata keep theirs."""
    if is_dataclass(value):
        named = ((field.name, getattr(value, field.name)) for field in fields(value))
        return {name: _without_nulls(each) for name, each in named if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, tuple) else value


def _print_text(found: Recalled) -> None:
    """Print the text on standard output, for a pipe; the reason of a refusal and notes on standard error."""
    if found.text:
        print(found.text)
    for note in ([found.reason] if found.reason else []) + list(found.notes):
        remark(note)


def _print_found(found: Recalled, reader: str | None, *, explain: bool) -> None:
    print_included(found)
    print_found(found, reader)
    if found.refused and found.confidence:
        out.print("[dim]--refuse-below 0 shows the nearest memories anyway.[/]")
    if explain and found:
        out.print()
        print_explanations(found.hits)
    print_footer(found, stages=explain)
