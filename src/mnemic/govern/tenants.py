"""List tenants, and delete one with everything that it holds.

The application's login sees one tenant at a time, so both need an administrator whom row-level security does
not bind: the embedded server's own, or a superuser or a role with BYPASSRLS in the URL.

Deleting removes the rows of every table that has a column `tenant_id`, found in the catalog, so that tables
of extensions are covered. The deletion is audited in the tenant that asks for it, which therefore cannot be
the deleted one: its audit log goes with it.
"""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from psycopg import sql

from mnemic.db.connection import AppConnection, Limits, Row, admin_connection
from mnemic.db.database import TenantDatabase
from mnemic.db.translate import translated
from mnemic.db.vector_index import drop_index
from mnemic.errors import ConfigurationError, ConflictError, MnemicError, NotFoundError
from mnemic.govern.audit import audited, without_owner
from mnemic.sql import query
from mnemic.types.identity import new_id
from mnemic.types.page import check_limit
from mnemic.types.receipt import ErasureReceipt
from mnemic.types.scope import Scope
from mnemic.types.tenant import TenantRecord, check_tenant_name

_DELETE_ROWS = sql.SQL("DELETE FROM {table} WHERE tenant_id = %(tenant_id)s")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Administrator:
    """How to connect as the role that administers the database."""

    conninfo: str
    limits: Limits


async def list_tenants(administrator: Administrator, *, after: str, limit: int) -> list[TenantRecord]:
    """Tenants by name, from the one after `after` on."""
    parameters = {"after": check_tenant_name(after) if after != "" else "", "limit": check_limit(limit)}
    async with _unbound_connection(administrator) as connection:
        return [TenantRecord(**row) for row in await _rows(connection, "tenants.list", parameters)]


async def delete_tenant(
    database: TenantDatabase, scope: Scope, name: str, *, administrator: Administrator
) -> ErasureReceipt:
    """Delete another tenant with all its rows; the audit log of `database` records it by name."""
    checked = check_tenant_name(name)
    if checked == database.tenant.name:
        raise ConflictError(
            f"{checked!r} is the tenant in use, and its audit log would be deleted with it: "
            "use another tenant to delete it."
        )
    receipt_id = new_id()
    async with _unbound_connection(administrator) as connection:
        await _require_tenant(connection, checked)
        detail = {"receipt_id": str(receipt_id)}
        async with audited(
            database, without_owner(scope), action="delete_tenant", target=checked, detail=detail
        ) as act:
            deleted = await _delete(connection, checked)
            act.outcome(rows=deleted.rows)
    await _drop_indexes(administrator, deleted.index_names)
    return ErasureReceipt(receipt_id, "erase", deleted.rows, datetime.now(UTC))


@dataclass(frozen=True)
class _Deleted:
    """Rows deleted per table, and the vector indexes that are unused now."""

    rows: dict[str, int]
    index_names: Sequence[str]


@asynccontextmanager
async def _unbound_connection(administrator: Administrator) -> AsyncIterator[AppConnection]:
    """The administrator's connection; ConfigurationError if row-level security would hide tenants from it."""
    with translated():
        async with admin_connection(administrator.conninfo, administrator.limits) as connection:
            (who,) = await _rows(connection, "session.who", {})
            if not (who["is_superuser"] or who["bypasses_policies"]):
                raise ConfigurationError(
                    f"The role {who['role']!r} sees only one tenant at a time. Listing and deleting tenants "
                    "needs an administrator: a superuser, or a role with BYPASSRLS."
                )
            yield connection


async def _require_tenant(connection: AppConnection, name: str) -> UUID:
    """The id of a tenant; its row is locked if a transaction is open."""
    rows = await _rows(connection, "tenants.lock", {"name": name})
    if not rows:
        raise NotFoundError(f"There is no tenant {name!r}. `mnemic tenants list` shows those that exist.")
    tenant_id: UUID = rows[0]["tenant_id"]
    return tenant_id


async def _delete(connection: AppConnection, name: str) -> _Deleted:
    async with connection.transaction():
        parameters = {"tenant_id": await _require_tenant(connection, name)}
        index_names = [row["name"] for row in await _rows(connection, "tenants.vector_indexes", parameters)]
        tables = await _rows(connection, "tenants.tables", {})
        rows = await _delete_rows(connection, tables, parameters)
        # Triggers write events about the deleted rows; these go, too.
        await _delete_rows(connection, tables, parameters)
        await connection.execute(query("tenants.delete"), parameters)
    return _Deleted(rows, index_names)


async def _delete_rows(
    connection: AppConnection, tables: Sequence[Row], parameters: dict[str, Any]
) -> dict[str, int]:
    """Delete the tenant's rows table by table; returns how many each one had."""
    counts = {}
    for table in tables:
        schema, name = table["schema_name"], table["table_name"]
        statement = _DELETE_ROWS.format(table=sql.Identifier(schema, name))
        counts[f"{schema}.{name}"] = (await connection.execute(statement, parameters)).rowcount
    return counts


async def _drop_indexes(administrator: Administrator, names: Sequence[str]) -> None:
    """Drop unused indexes. A failure is only logged: they are small and unused."""
    for name in names:
        try:
            await drop_index(administrator.conninfo, administrator.limits, name)
        except MnemicError as error:
            logger.warning("the vector index %s of a deleted tenant could not be dropped: %s", name, error)


async def _rows(connection: AppConnection, name: str, parameters: dict[str, Any]) -> list[Row]:
    cursor = await connection.execute(query(name), parameters)
    return await cursor.fetchall()
