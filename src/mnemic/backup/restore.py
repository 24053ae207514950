"""Backing up and restoring a storage: what differs between the embedded server and a URL.

A restore is audited, although it replaces the log that tells of it. On the embedded server:

1. The **intent** goes into what is about to be replaced. If that cannot be written to (broken, of another
   version), the restore goes on all the same: it may be the cure.
2. The backup is restored beside it. If that fails, the act has **failed**, which the old log says.
3. The intent goes **into what was restored**, before it takes the place of the old.
4. It takes the place; then the **outcome** is written there.

Whoever is killed before the storage is taken leaves the intent in the old log, afterwards in the new one. A
database of the user's own is empty before, so there is no log: intent and outcome are written when it is
full. What is refused before anything is touched (no backup, a place that must not be replaced) is no act.
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
from mnemic.db.database_swap import check_place, drop_database, make_database, put_in_place
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.db.tenancy import SigningKey
from mnemic.db.translate import translated
from mnemic.errors import DatabaseError, MnemicError
from mnemic.govern.audit import AuditedAct, audited, described_error, end_act, file_target, nobodys
from mnemic.runtime.core import Core
from mnemic.runtime.storage import limits_of, open_storage, start_server
from mnemic.sql import query
from mnemic.types.scope import Scope

logger = logging.getLogger("mnemic.restoring")


@dataclass(frozen=True)
class Restore:
    """What is to be restored, by whom, and in which tenant's log that is told."""

    path: Path
    by: Scope
    tenant_name: str
    limits: Limits

    def act(self, database: TenantDatabase) -> AuditedAct:
        """The act, in one of the databases that it concerns."""
        target, size_bytes = file_target(self.path), self.path.stat().st_size
        scope, detail = nobodys(self.by), {"size_bytes": size_bytes}
        return audited(database, scope, action="restore", target=target, detail=detail, keeps_message=False)


def admin_conninfo(core: Core) -> str:
    """How to connect as administrator to the place that is open."""
    server = core.storage.server
    if server is not None:
        return server.conninfo(user=ADMIN_ROLE, dbname=DATABASE_NAME)
    assert core.settings.database_url is not None, "a storage is embedded or has a URL"
    return core.settings.database_url.get_secret_value()


async def restore_place(settings: Settings, path: Path, *, replace: bool, by: Scope | None = None) -> None:
    """Restore a backup into the place that the settings name, in whose tenant's audit log it is told.

    A database of the user's own must be empty. On the embedded server the backup is restored beside
    what is there, which is replaced in one step when it is complete. `by` says who does it.
    """
    check_backup(path)
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
    if await check_place(maintenance, DATABASE_NAME, restore.limits, replace=replace):
        old_intent_id = await _intend_in_old(server, restore)
    await make_database(maintenance, beside, restore.limits)
    try:
        conninfo = server.conninfo(user=ADMIN_ROLE, dbname=beside)
        await restore_into(conninfo, restore.path, restore.limits)
        intent_id = await _intend(server, beside, restore)
        await put_in_place(maintenance, beside, DATABASE_NAME, restore.limits, replace=replace)
    except BaseException as error:
        await drop_database(maintenance, beside, restore.limits)
        if old_intent_id is not None:
            await _end(server, restore, old_intent_id, "failed", described_error(error))
        raise
    await _end(server, restore, intent_id, "succeeded", {})


async def _intend(server: EmbeddedServer, dbname: str, restore: Restore) -> UUID:
    """Commit the intent in a database of the server, and leave it: it is about to change its name."""
    async with _tenant_in(server, dbname, restore) as database:
        act = restore.act(database)
        async with act:
            act.hand_over()
    return act.intent_id


async def _intend_in_old(server: EmbeddedServer, restore: Restore) -> UUID | None:
    try:
        return await _intend(server, DATABASE_NAME, restore)
    except MnemicError as error:
        logger.warning("what is replaced cannot be told of that: %s", error)
        return None


async def _end(
    server: EmbeddedServer,
    restore: Restore,
    intent_id: UUID,
    phase: Literal["succeeded", "failed"],
    detail: dict[str, Any],
) -> None:
    """Write the outcome. If that fails, the act stays unfinished; what was done, or its error, stands."""
    try:
        async with (
            _tenant_in(server, DATABASE_NAME, restore) as database,
            database.transaction() as transaction,
        ):
            await end_act(transaction, intent_id, phase, detail)
    except MnemicError:
        logger.warning("The restore (%s) stays unfinished in the audit log.", intent_id)


@asynccontextmanager
async def _tenant_in(server: EmbeddedServer, dbname: str, restore: Restore) -> AsyncIterator[TenantDatabase]:
    """A database of the server as the tenant sees it, as it is: nothing is made or migrated."""
    async with admin_connection(server.conninfo(user=ADMIN_ROLE, dbname=dbname), restore.limits) as admin:
        with translated():
            cursor = await admin.execute(query("session.signing_key"))
            row = await cursor.fetchone()
    if row is None:
        raise DatabaseError("The database has no key that signs tenants.")
    key = SigningKey(row["key"])
    login = server.conninfo(user=key.login, dbname=dbname)
    conninfo = with_session(login, restore.limits, statement_timeout_s=restore.limits.statement_timeout_s)
    database = Database(Access(lambda: conninfo, key, "", ""), restore.limits)
    try:
        await database.open()
        yield TenantDatabase(database, await database.open_tenant(restore.tenant_name))
    finally:
        await database.aclose()
