"""`mnemic index`: build the missing vector indexes of large owners."""

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from mnemic.cli.options import DatabaseUrl, DataDir, Embedder, Json, TenantName, settings_from
from mnemic.cli.output import err, out, print_json, table
from mnemic.db.vector_index import INDEX_MIN_ROWS
from mnemic.embeddings.indexes import OwnerIndex, build_missing
from mnemic.runtime.core import Core
from mnemic.runtime.job_types import JobTable
from mnemic.runtime.models_in_use import Models

OneOwner = Annotated[str | None, typer.Option("--owner", help="Only this owner. Default: all owners.")]


def index(
    owner: OneOwner = None,
    url: DatabaseUrl = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Build missing vector indexes of owners with many memories. A URL must be an administrator's."""
    settings = settings_from(url, data_dir, tenant).model_copy(update={"create_tenant": False})
    core = Core(settings, Models(settings, embedder), JobTable())
    owners = asyncio.run(_make(core, owner, quiet=json))
    if json:
        print_json({"owners": [asdict(each) for each in owners]})
    elif not owners:
        out.print(f"Nothing to do: indexes are for owners with more than {INDEX_MIN_ROWS:,} vectors.")
    else:
        _print_owners(owners)


async def _make(core: Core, owner: str | None, *, quiet: bool) -> list[OwnerIndex]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, disable=quiet) as bar:
        task = bar.add_task("looking", total=None)

        def show(large: OwnerIndex, done: int) -> None:
            bar.update(task, description="indexing", completed=done, total=large.vector_count)

        await core.open()
        try:
            return [each async for each in build_missing(core, owner, show)]
        finally:
            await core.aclose()


def _print_owners(owners: list[OwnerIndex]) -> None:
    listing = table("owner", "vectors", "size", "seconds")
    for each in owners:
        size = "not indexed" if each.size_bytes is None else f"{each.size_bytes / 1e6:.1f} MB"
        seconds = "" if each.seconds is None else f"{each.seconds:.1f}"
        listing.add_row(escape(each.owner), f"{each.vector_count:,}", size, seconds)
    out.print(listing)
