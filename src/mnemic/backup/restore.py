"""Restore a backup, on the embedded server or into the database of a URL.

A restore is audited, although it replaces the audit log. On the embedded server:

1. Write the **intent** into the old database. If that fails (it is broken, or of another version), continue:
   the restore may be the remedy.
2. Restore the backup into a new database beside the old one. On failure, write **failed** into the old log.
3. Write the intent into the **new database**.
4. Swap the databases; then write the **outcome** into the new log.

A process that is killed leaves the intent in the old log before the swap, and in the new log after it. The
database of a URL is empty before the restore and has no log, so intent and outcome are written afterwards. A
refusal before anything changes (not a backup, a database that must not be replaced) is not audited.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from mnemic.backup.dump import check_backup, restore_into
from mnemic.config import Settings
from mnemic.db.access import DATABASE_NAME, Access, check_url
from mnemic.db.connection import Limits, admin_connection, with_session
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.database_swap import check_replaceable, drop_database, make_database, swap_in
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.db.tenancy import SigningKey
from mnemic.db.translate import translated
from mnemic.errors import DatabaseError, MnemicError
from mnemic.govern.audit import AuditedAct, audited, described_error, end_act, file_target, without_owner
from mnemic.runtime.core import Core
from mnemic.runtime.storage import limits_of, open_storage, start_server
from mnemic.sql import query
from mnemic.types.scope import Scope

logger = logging.getLogger("mnemic.restore")


@dataclass(frozen=True)
class Restore:
    """The backup to restore, who restores it, and the tenant whose audit log records it."""

    path: Path
    by: Scope
    tenant_name: str
    limits: Limits

    def act(self, database: TenantDatabase) -> AuditedAct:
        """The audited act in one of the two databases."""
        target, size_bytes = file_target(self.path), self.path.stat().st_size
        scope, detail = without_owner(self.by), {"size_bytes": size_bytes}
        return audited(database, scope, action="restore", target=target, detail=detail, keeps_message=False)


def admin_conninfo(core: Core) -> str:
    """The administrator's connection string of the open storage."""
    server = core.storage.server
    if server is not None:
        return server.conninfo(user=ADMIN_ROLE, dbname=DATABASE_NAME)
    assert core.settings.database_url is not None, "a storage is embedded or has a URL"
    return core.settings.database_url.get_secret_value()


async def restore_storage(settings: Settings, path: Path, *, replace: bool, by: Scope | None = None) -> None:
    """Restore a backup into the storage that the settings name; the tenant's audit log records it.

    The database of a URL must be empty. On the embedded server the backup is restored beside the existing
    database and replaces it in one step when it is complete. `by` is the acting scope.
    """
    await check_backup(path)
    scope = by if by is not None else Scope(None, settings.channel, settings.process)
    restore = Restore(path, scope, settings.tenant, limits_of(settings))
    if settings.database_url is not None:
        await _restore_into_url(settings, settings.database_url.get_secret_value(), restore)
        return
    server = await start_server(settings)
    try:
        await _restore_beside(server, restore, replace=replace)
    finally:
        await asyncio.to_thread(server.close)


async def _restore_into_url(settings: Settings, url: str, restore: Restore) -> None:
    check_url(url)
    await restore_into(url, restore.path, restore.limits)
    storage = await open_storage(settings)
    try:
        async with restore.act(storage.tenant_database):
            pass
    finally:
        await storage.aclose()


async def _restore_beside(server: EmbeddedServer, restore: Restore, *, replace: bool) -> None:
    maintenance = server.conninfo(user=ADMIN_ROLE, dbname="postgres")
    beside = f"restoring_{secrets.token_hex(6)}"
    old_intent_id = None
    if await check_replaceable(maintenance, DATABASE_NAME, restore.limits, replace=replace):
        old_intent_id = await _write_old_intent(server, restore)
    await make_database(maintenance, beside, restore.limits)
    try:
        conninfo = server.conninfo(user=ADMIN_ROLE, dbname=beside)
        await restore_into(conninfo, restore.path, restore.limits)
        intent_id = await _write_intent(server, beside, restore)
        await swap_in(maintenance, beside, DATABASE_NAME, restore.limits, replace=replace)
    except BaseException as error:
        await drop_database(maintenance, beside, restore.limits)
        if old_intent_id is not None:
            await _write_outcome(server, restore, old_intent_id, "failed", described_error(error))
        raise
    await _write_outcome(server, restore, intent_id, "succeeded", {})


async def _write_intent(server: EmbeddedServer, dbname: str, restore: Restore) -> UUID:
    """Commit the intent in a database of the server and disconnect: the database is about to be renamed."""
    async with _tenant_in(server, dbname, restore) as database:
        act = restore.act(database)
        async with act:
            act.hand_over()
    return act.intent_id


async def _write_old_intent(server: EmbeddedServer, restore: Restore) -> UUID | None:
    try:
        return await _write_intent(server, DATABASE_NAME, restore)
    except MnemicError as error:
        logger.warning("the intent to restore cannot be written into the old database: %s", error)
        return None


async def _write_outcome(
    server: EmbeddedServer,
    restore: Restore,
    intent_id: UUID,
    phase: Literal["succeeded", "failed"],
    detail: dict[str, Any],
) -> None:
    """Write the outcome. If that fails, the act stays unfinished in the log; the restore itself stands."""
    try:
        async with (
            _tenant_in(server, DATABASE_NAME, restore) as database,
            database.transaction() as transaction,
        ):
            await end_act(transaction, intent_id, phase, detail)
    except MnemicError:
        logger.warning(
            "the restore %s stays unfinished in the audit log: its outcome cannot be written", intent_id
        )


@asynccontextmanager
async def _tenant_in(server: EmbeddedServer, dbname: str, restore: Restore) -> AsyncIterator[TenantDatabase]:
    """A database of the server in the view of the tenant, without creating or migrating it."""
    async with admin_connection(server.conninfo(user=ADMIN_ROLE, dbname=dbname), restore.limits) as admin:
        with translated():
            cursor = await admin.execute(query("session.signing_key"))
            row = await cursor.fetchone()
    if row is None:
        raise DatabaseError("The database has no signing key for tenants.")
    key = SigningKey(row["key"])
    login = server.conninfo(user=key.login, dbname=dbname)
    conninfo = with_session(login, restore.limits, statement_timeout_s=restore.limits.statement_timeout_s)
    database = Database(Access(lambda: conninfo, key, "", ""), restore.limits)
    try:
        await database.open()
        yield TenantDatabase(database, await database.open_tenant(restore.tenant_name))
    finally:
        await database.aclose()
