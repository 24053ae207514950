"""`mnemic export` and `mnemic import`: move an owner as a file, and import from other systems."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from mnemic.adapters.importing import ImportReport, SourceName, import_from
from mnemic.backup.owner_transfer import Imported
from mnemic.cli.opening import memory_from
from mnemic.cli.options import DataDir, Embedder, Json, Owner, Replace, TenantName, Url, settings_from
from mnemic.cli.output import err, one_line, out, print_backlog, print_json, print_line, remark, table
from mnemic.errors import InvalidInputError
from mnemic.maintenance.as_is import export_as_is, schema_mismatch
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.scope import Scope


def export(
    path: Annotated[Path, typer.Argument(help="The file to write.")],
    owner: Owner = None,
    replace: Replace = False,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Export everything about an owner into a file of JSON lines. Migrates nothing."""

    async def run() -> dict[str, int]:
        settings = settings_from(url, data_dir, tenant)
        async with schema_mismatch(settings) as mismatch:
            if mismatch is not None:
                remark(f"{mismatch} The export reads the database as it is.")
                scope = Scope(owner or settings.owner, settings.channel, "cli")
                return await export_as_is(settings, scope, path, replace=replace)
            async with memory_from(url, data_dir, tenant, owner=owner) as memory:
                return await memory.admin.export(path, replace=replace)

    _print_rows(asyncio.run(run()), json=json)


def import_(
    path: Annotated[Path, typer.Argument(help="A file of `mnemic export`, or of another system.")],
    source: Annotated[
        SourceName | None,
        typer.Option("--from", help="System that the file comes from. Default: `mnemic export`."),
    ] = None,
    owner: Annotated[
        str | None,
        typer.Option("--owner", help="With --from: owner of the imported memories (env: MNEMIC_OWNER)."),
    ] = None,
    owner_from_source: Annotated[
        bool, typer.Option("--owner-from-source", help="With --from: keep the owners in the file.")
    ] = False,
    channel: Annotated[
        str | None, typer.Option("--channel", help="With --from: channel (env: MNEMIC_CHANNEL).")
    ] = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Import an exported owner, or memories of another system. Existing memories stay."""
    if source is None and (owner is not None or owner_from_source or channel is not None):
        raise InvalidInputError("--owner, --owner-from-source and --channel go with --from.")
    memory = memory_from(
        url, data_dir, tenant, owner=owner, channel=channel, embedder=embedder, creates_tenant=True
    )
    if source is None:
        _print_imported(asyncio.run(_import_owner(memory, path)), json=json)
    else:
        report = asyncio.run(_import_source(memory, source, path, owner_from_source, quiet=json))
        _print_report(report, json=json)


async def _import_owner(memory: AsyncMemory, path: Path) -> Imported:
    async with memory:
        return await memory.admin.import_(path)


async def _import_source(
    memory: AsyncMemory, source: SourceName, path: Path, owner_from_source: bool, *, quiet: bool
) -> ImportReport:
    columns = (SpinnerColumn(), TextColumn("importing"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, disable=quiet or not err.is_terminal) as bar:
        task = bar.add_task("importing", total=None)
        async with memory:
            return await import_from(
                memory,
                source,
                path,
                owner_from_source=owner_from_source,
                on_progress=lambda done: bar.update(task, completed=done),
            )


def _print_imported(imported: Imported, *, json: bool) -> None:
    if json:
        print_json(asdict(imported))
        return
    _print_rows(imported.rows, json=False)
    if imported.awaiting_embedding_count:
        print_backlog(imported.awaiting_embedding_count)


def _print_report(report: ImportReport, *, json: bool) -> None:
    if json:
        print_json(asdict(report))
        return
    counts = report.imported_count, report.known_count, report.skipped_count
    out.print("imported {:,}, known already {:,}, skipped {:,}".format(*counts))
    for name, count in report.owners.items():
        print_line(f"  {one_line(name)}: {count:,}")
    for skipped in report.skipped:
        print_line(f"  skipped {one_line(skipped.record)}: {one_line(skipped.reason)}")
    if report.awaiting_embedding_count:
        print_backlog(report.awaiting_embedding_count)


def _print_rows(rows: dict[str, int], *, json: bool) -> None:
    if json:
        print_json({"rows": rows})
        return
    listing = table("table", "rows")
    for name, count in rows.items():
        if count:
            listing.add_row(name, f"{count:,}")
    out.print(listing)
