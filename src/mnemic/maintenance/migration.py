"""Migrate a database that is not open: what `mnemic migrate` calls."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mnemic.config import Settings
from mnemic.db.access import check_url, embedded_admin_conninfo
from mnemic.db.migrate import MigrationStatus, migrate, read_status
from mnemic.runtime.storage import check_settings, key_of, limits_of, start_server


async def migrate_database(settings: Settings, *, disconnect_others: bool = False) -> MigrationStatus:
    """Apply what is pending and outdated; returns the status from before."""
    async with administrator(settings) as conninfo:
        return await migrate(
            conninfo, limits_of(settings), key=key_of(settings), disconnect_others=disconnect_others
        )


async def migration_status(settings: Settings) -> MigrationStatus:
    """Applied and pending migrations; changes nothing in the database."""
    async with administrator(settings) as conninfo:
        return await read_status(conninfo, limits_of(settings))


@asynccontextmanager
async def administrator(settings: Settings) -> AsyncIterator[str]:
    """How to connect as administrator; the embedded server, if it is used, runs until the block ends."""
    check_settings(settings)
    if settings.database_url is not None:
        check_url(settings.database_url.get_secret_value())
        yield settings.database_url.get_secret_value()
        return
    server = await start_server(settings)
    try:
        yield await embedded_admin_conninfo(server, limits_of(settings))
    finally:
        await asyncio.to_thread(server.close)
