"""Backing up and restoring a place: what differs between the embedded server and a URL."""

import asyncio
import secrets
from pathlib import Path

from mnemic.config import Settings
from mnemic.db.access import DATABASE_NAME, check_url
from mnemic.db.connection import Limits
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.db.swap import check_place, drop_database, make_database, put_in_place
from mnemic.govern.backup import check_backup, restore_into
from mnemic.sdk.core import Core
from mnemic.sdk.place import limits_of, start_server


def admin_conninfo(core: Core) -> str:
    """How to connect as administrator to the place that is open."""
    server = core.place.server
    if server is not None:
        return server.conninfo(user=ADMIN_ROLE, dbname=DATABASE_NAME)
    assert core.settings.database_url is not None, "a place is embedded or has a URL"
    return core.settings.database_url.get_secret_value()


async def restore_place(settings: Settings, path: Path, *, replace: bool) -> None:
    """Restore a backup into the place that the settings name.

    A database of the user's own must be empty. On the embedded server the backup is restored beside
    what is there, which is replaced in one step when it is complete.
    """
    check_backup(path)
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        check_url(url)
        await restore_into(url, path, limits_of(settings))
        return
    server = await start_server(settings)
    try:
        await _restore_beside(server, path, limits_of(settings), replace=replace)
    finally:
        await asyncio.to_thread(server.close)


async def _restore_beside(server: EmbeddedServer, path: Path, limits: Limits, *, replace: bool) -> None:
    maintenance = server.conninfo(user=ADMIN_ROLE, dbname="postgres")
    beside = f"restoring_{secrets.token_hex(6)}"
    await check_place(maintenance, DATABASE_NAME, limits, replace=replace)
    await make_database(maintenance, beside, limits)
    try:
        await restore_into(server.conninfo(user=ADMIN_ROLE, dbname=beside), path, limits)
        await put_in_place(maintenance, beside, DATABASE_NAME, limits, replace=replace)
    except BaseException:
        await drop_database(maintenance, beside, limits)
        raise
