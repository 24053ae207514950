"""Back up and export a database whose schema is not that of this version, without migrating it.

A backup before an upgrade, or a way back to an earlier version, must not need a migration first. `pg_dump`
copies any schema. An export reads through functions in the database itself: it works while these fit this
version, and otherwise fails with the version to use. Neither waits for processes of other versions.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from mnemic.backup.dump import Backup, back_up
from mnemic.backup.owner_transfer import export_owner
from mnemic.config import Settings
from mnemic.db.access import Access
from mnemic.db.connection import AppConnection, admin_connection, with_session
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.migrate import migrated_by, require_current, status_of
from mnemic.db.tenancy import SigningKey
from mnemic.db.translate import translated
from mnemic.errors import MigrationError, MnemicError
from mnemic.maintenance.migration import administrator
from mnemic.runtime.storage import key_of, limits_of, uses_http
from mnemic.sql import query
from mnemic.types.scope import Scope

# Statements that do not fit the schema, and rows that it refuses.
_MISFITS = (psycopg.ProgrammingError, psycopg.IntegrityError)


@asynccontextmanager
async def schema_mismatch(settings: Settings) -> AsyncIterator[MigrationError | None]:
    """Why this version would have to migrate the database, or could not; None if it fits or is empty.

    An embedded server runs until the block ends, so that what follows need not start it again.
    """
    if uses_http(settings):
        yield None
        return
    async with administrator(settings) as conninfo:
        async with admin_connection(conninfo, limits_of(settings)) as connection:
            mismatch = await _mismatch(connection)
        yield mismatch


async def _mismatch(connection: AppConnection) -> MigrationError | None:
    try:
        if (await status_of(connection)).applied:
            await require_current(connection)
    except MigrationError as error:
        return error
    return None


async def back_up_as_is(settings: Settings, path: Path, *, replace: bool) -> Backup:
    """Back up the database as it is; no audit record is written, since that would change it."""
    async with administrator(settings) as conninfo:
        return await back_up(conninfo, path, replace=replace)


async def export_as_is(settings: Settings, scope: Scope, path: Path, *, replace: bool) -> dict[str, int]:
    """Export an owner from the database as it is; MigrationError if this version cannot read it."""
    async with administrator(settings) as conninfo:
        try:
            async with _tenant(settings, conninfo) as database:
                return await export_owner(database, scope, path, replace=replace)
        except MnemicError as error:
            if not isinstance(error.__cause__, _MISFITS):
                raise
            async with admin_connection(conninfo, limits_of(settings)) as connection:
                version = await migrated_by(connection) or "the version of Mnemic that migrated it"
            raise MigrationError(
                f"This version cannot read the schema of the database ({error}). Export it with {version}. "
                "`mnemic backup` works with every version."
            ) from error


@asynccontextmanager
async def _tenant(settings: Settings, conninfo: str) -> AsyncIterator[TenantDatabase]:
    """The database in the view of the tenant, neither migrated nor checked."""
    limits = limits_of(settings)
    key = key_of(settings)
    login = conninfo
    if key is None:
        async with admin_connection(conninfo, limits) as connection:
            with translated():
                cursor = await connection.execute(query("session.signing_key"))
                row = await cursor.fetchone()
        assert row is not None, "a migrated database has a signing key"
        key = SigningKey(row["key"])
        login = make_conninfo(conninfo, user=key.login, password=key.login_password)
    app_conninfo = with_session(login, limits, statement_timeout_s=limits.statement_timeout_s)
    database = Database(Access(lambda: app_conninfo, key, "", ""), limits)
    try:
        await database.open()
        yield TenantDatabase(database, await database.open_tenant(settings.tenant, create=False))
    finally:
        await database.aclose()
