"""`mnemic migrate`: migrate a database to the schema of this version."""

import asyncio
from typing import Annotated

import typer

from mnemic.cli.options import DatabaseUrl, DataDir, Json, settings_from
from mnemic.cli.output import out, print_json, table
from mnemic.db.migrate import MigrationStatus
from mnemic.maintenance.migration import migrate_database, migration_status


def migrate(
    url: DatabaseUrl = None,
    data_dir: DataDir = None,
    status: Annotated[
        bool, typer.Option("--status", help="Only list applied and pending migrations.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print the SQL of pending migrations.")
    ] = False,
    disconnect: Annotated[
        bool,
        typer.Option("--disconnect", help="Disconnect processes of other versions instead of waiting."),
    ] = False,
    json: Json = False,
) -> None:
    """Apply pending migrations and changed definitions. Opening an embedded database does that, too."""
    settings = settings_from(url, data_dir)
    if status or dry_run:
        found = asyncio.run(migration_status(settings))
        if json:
            print_json({"applied": found.applied_labels, **_changes(found, "pending")})
        elif dry_run:
            _print_sql(found)
        else:
            _print_status(found)
        return
    done = asyncio.run(migrate_database(settings, disconnect_others=disconnect))
    if json:
        print_json(_changes(done, "applied_now"))
    elif done.is_current:
        out.print("Nothing to do: every migration is applied.")
    else:
        for migration in done.pending:
            out.print(f"applied {migration.label}")
        out.print(f"definitions: {len(done.outdated)} applied, {len(done.removed)} dropped")


def _changes(status: MigrationStatus, key: str) -> dict[str, list[str]]:
    return {
        key: [item.label for item in status.pending],
        "definitions": [item.label for item in status.outdated],
        "dropped_definitions": list(status.removed),
    }


def _print_sql(status: MigrationStatus) -> None:
    for item in status.to_apply:
        out.print(f"-- {item.label}\n{item.sql}", markup=False)
    for label in status.removed:
        out.print(f"-- {label} is dropped", markup=False)
    if status.is_current:
        out.print("-- nothing is pending")


def _print_status(status: MigrationStatus) -> None:
    listing = table("migration", "state")
    for label in status.applied_labels:
        listing.add_row(label, "[green]applied[/]")
    for item in status.to_apply:
        listing.add_row(item.label, "[yellow]pending[/]")
    for label in status.removed:
        listing.add_row(label, "[yellow]to be dropped[/]")
    out.print(listing)
