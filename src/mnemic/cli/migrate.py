"""`mnemic migrate`: migrate a database to the schema of this version."""

import asyncio
from typing import Annotated

import typer

from mnemic.cli.options import DataDir, Json, Url, settings_from
from mnemic.cli.output import out, print_json, table
from mnemic.maintenance.migration import migrate_place, migration_status
from mnemic.sql.migration_files import Migration


def migrate(
    url: Url = None,
    data_dir: DataDir = None,
    status: Annotated[
        bool, typer.Option("--status", help="Only list applied and pending migrations.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print the SQL of pending migrations.")
    ] = False,
    json: Json = False,
) -> None:
    """Apply pending migrations. The embedded server's database is migrated by itself."""
    settings = settings_from(url, data_dir)
    if status or dry_run:
        found = asyncio.run(migration_status(settings))
        if json:
            print_json({"applied": found.applied_labels, "pending": [item.label for item in found.pending]})
        elif dry_run:
            _print_sql(found.pending)
        else:
            _print_status(found.applied_labels, found.pending)
        return
    done = asyncio.run(
        migrate_place(settings, lambda item: None if json else out.print(f"applied {item.label}"))
    )
    if json:
        print_json({"applied_now": [item.label for item in done]})
    elif not done:
        out.print("Nothing to do: every migration is applied.")


def _print_sql(pending: tuple[Migration, ...]) -> None:
    for migration in pending:
        out.print(f"-- {migration.label}\n{migration.sql}", markup=False)
    if not pending:
        out.print("-- nothing is pending")


def _print_status(applied: list[str], pending: tuple[Migration, ...]) -> None:
    listing = table("migration", "state")
    for label in applied:
        listing.add_row(label, "[green]applied[/]")
    for migration in pending:
        listing.add_row(migration.label, "[yellow]pending[/]")
    out.print(listing)
