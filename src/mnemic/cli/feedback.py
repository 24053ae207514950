"""`mnemic memories feedback` and `mnemic memories promotions`."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from mnemic.cli.memories import MemoryId
from mnemic.cli.opening import memory_from, run_call
from mnemic.cli.options import DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.types.promotion import Promotion


def feedback(
    memory_id: MemoryId,
    useful: Annotated[
        bool, typer.Option("--useful/--not-useful", help="Whether the memory was useful.")
    ] = True,
    cited: Annotated[bool, typer.Option("--cited", help="An answer cited the memory.")] = False,
    conversation: Annotated[
        str | None, typer.Option(help="Where it was used; each conversation counts once.")
    ] = None,
    note: Annotated[str | None, typer.Option(help="Why, in a sentence.")] = None,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Say whether a memory was useful: it ranks higher or lower from now on."""
    record = run_call(
        memory_from(url, data_dir, tenant, owner=owner),
        lambda memory: memory.memories.feedback(
            memory_id, useful=useful, cited=cited, conversation=conversation, note=note
        ),
    )
    if json:
        print_json(asdict(record))
    else:
        ranks = f"usefulness {record.usefulness:.2f}, salience {record.salience:.2f}"
        print_line(f"Counted: {ranks}: {one_line(record.content)}")


def promotions(
    before: Annotated[
        str | None, typer.Option(help="Continue after this id, the last of the previous page.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Maximum number to list.")] = 20,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List memories that were promoted to `_global`, with the thresholds and what was measured."""
    found = run_call(
        memory_from(url, data_dir, tenant, owner=owner),
        lambda memory: memory.memories.promotions(before=before, limit=limit),
    )
    if json:
        print_json([asdict(each) for each in found])
    elif not found:
        print_line("No memory has been promoted.")
    else:
        _print_promotions(found)


def _print_promotions(found: Sequence[Promotion]) -> None:
    listing = table("memory", "state", "from", "promoted", "measured")
    for each in found:
        measured = ", ".join(f"{name} {value:g}" for name, value in each.measured.items())
        promoted = f"{each.promoted_at:%Y-%m-%d %H:%M}"
        listing.add_row(str(each.memory_id), each.state, Text(each.origin_channel), promoted, measured)
    out.print(listing)
