"""`mnemic tenants`: list, create and delete tenants, where the database is.

These commands work in the tenant `default`, whatever MNEMIC_TENANT says: it exists everywhere.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from mnemic.cli.erasing import check_can_ask, print_row_counts
from mnemic.cli.opening import memory_from, run_call
from mnemic.cli.options import DatabaseUrl, DataDir, Json, settings_from
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.config import DEFAULT_TENANT
from mnemic.errors import InvalidInputError
from mnemic.runtime.storage import check_settings
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.receipt import ErasureReceipt
from mnemic.types.tenant import TenantRecord

app = typer.Typer(no_args_is_help=True, help="List, create and delete tenants.")

Name = Annotated[str, typer.Argument(help="The name of the tenant.")]


@app.command("list")
def list_tenants(
    after: Annotated[str, typer.Option(help="Continue after this name, the last of the previous page.")] = "",
    limit: Annotated[int, typer.Option(help="Maximum number to list.")] = 100,
    url: DatabaseUrl = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """List tenants by name. A postgresql:// URL must be that of an administrator."""
    found = run_call(_memory(url, data_dir), lambda memory: memory.admin.tenants(after=after, limit=limit))
    if json:
        print_json([asdict(each) for each in found])
    else:
        _print_table(found)


@app.command("create")
def create(name: Name, url: DatabaseUrl = None, data_dir: DataDir = None, json: Json = False) -> None:
    """Create an empty tenant. Commands that write create the tenant that they name, too."""
    made = run_call(_memory(url, data_dir), lambda memory: memory.admin.create_tenant(name))
    if json:
        print_json({"tenant_id": made.id, "name": made.name})
    else:
        print_line(f"Created: {one_line(made.name)}")


@app.command("delete")
def delete(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for the name.")] = False,
    tenant: Annotated[
        str, typer.Option("--tenant", help="Tenant whose audit log records the deletion.")
    ] = DEFAULT_TENANT,
    url: DatabaseUrl = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Delete a tenant with everything in it. A postgresql:// URL must be that of an administrator."""
    memory = _memory(url, data_dir, tenant)
    _confirm(name, yes=yes, json=json)
    receipt = run_call(memory, lambda memory: memory.admin.delete_tenant(name))
    if json:
        print_json(asdict(receipt))
    else:
        _print_receipt(name, receipt)


def _memory(url: str | None, data_dir: Path | None, tenant: str = DEFAULT_TENANT) -> AsyncMemory:
    check_settings(settings_from(url, data_dir))
    return memory_from(url, data_dir, tenant, worker=False)


def _confirm(name: str, *, yes: bool, json: bool) -> None:
    """Ask for the tenant's name."""
    if yes:
        return
    check_can_ask(json=json)
    typed = typer.prompt(
        f"This deletes the tenant {one_line(name)!r} and everything in it, for good. Type its name", err=True
    )
    if typed != name:
        raise InvalidInputError("That is another name. Nothing was deleted.")


def _print_table(tenants: Sequence[TenantRecord]) -> None:
    listing = table("tenant", "created (UTC)", "id")
    for each in tenants:
        created = f"{each.created_at:%Y-%m-%d %H:%M}"
        listing.add_row(Text(one_line(each.name)), created, str(each.tenant_id))
    out.print(listing)


def _print_receipt(name: str, receipt: ErasureReceipt) -> None:
    print_row_counts(receipt.rows)
    print_line(f"Deleted: {one_line(name)} ({receipt.row_count:,} rows).")
