"""The options of `mnemic memories list`. Those that recall has, too, are its options."""

from typing import Annotated

import typer

from mnemic.types.memory import SOURCES, STATUSES
from mnemic.types.memory_list import MEMORY_ORDERS, MemoryOrder

Statuses = Annotated[
    list[str] | None,
    typer.Option(
        "--status", help=f"Only this status; may be repeated. Default: active. One of: {', '.join(STATUSES)}."
    ),
]
Forgotten = Annotated[bool, typer.Option("--forgotten", help="Also forgotten memories.")]
Words = Annotated[
    str | None, typer.Option(help="Only with all of these words; `berl*` finds words that begin with it.")
]
Ids = Annotated[list[str] | None, typer.Option("--id", help="Only the memory with this id; may be repeated.")]
Sources = Annotated[
    list[str] | None,
    typer.Option("--source", help=f"Only from this source; may be repeated: {', '.join(SOURCES)}."),
]
Roles = Annotated[
    list[str] | None, typer.Option("--role", help="Only said in this role (user); may be repeated.")
]
Names = Annotated[
    list[str] | None, typer.Option("--name", help="Only said by exactly this name; may be repeated.")
]
MinConfidence = Annotated[float | None, typer.Option(help="Only with at least this confidence, 0 to 1.")]
NeverRecalled = Annotated[bool, typer.Option("--never-recalled", help="Only what no recall has found yet.")]
AsOf = Annotated[str | None, typer.Option(help="List what was known at this date or time.")]
Order = Annotated[MemoryOrder, typer.Option(help=f"One of: {', '.join(MEMORY_ORDERS)}.")]
Facets = Annotated[
    bool, typer.Option("--facets", help="Count the memories and their values instead of listing them.")
]
Before = Annotated[str | None, typer.Option(help="Continue after this id, the last of the previous page.")]
Limit = Annotated[int, typer.Option(help="Maximum number to list.")]
