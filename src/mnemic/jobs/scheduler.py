"""The scheduler: enqueues the jobs of schedules that are due, for all tenants.

Workers call `tick` every second. The database does the work in one transaction (`mnemic.run_due_schedules`),
so any number of workers may tick at once, and one may die in the middle. Where pg_cron ticks, a worker finds
nothing due unless pg_cron is late.
"""

import psycopg

from mnemic.db.connection import Limits, admin_connection
from mnemic.db.database import Database
from mnemic.db.translate import translated
from mnemic.errors import ConfigurationError
from mnemic.sql import query


async def tick(database: Database) -> int:
    """Enqueue the jobs of all schedules that are due now; returns how many there were."""
    async with database.privileged_transaction("working", "queue") as queries:
        return int((await queries.one("schedules.run_due"))["ticked"])


async def use_pg_cron(admin_conninfo: str, limits: Limits) -> None:
    """Let pg_cron tick every ten seconds or, before its version 1.5, every minute."""
    async with admin_connection(admin_conninfo, limits) as connection:
        with translated():
            try:
                await connection.execute(query("schedules.use_pg_cron"))
            except psycopg.errors.UndefinedObject:
                raise ConfigurationError(
                    "pg_cron is not installed in this database, and nothing was changed: workers tick "
                    "without it. To install it, put pg_cron into shared_preload_libraries, restart "
                    "PostgreSQL, and run CREATE EXTENSION pg_cron;"
                ) from None


async def leave_pg_cron(admin_conninfo: str, limits: Limits) -> bool:
    """Let workers tick again; returns whether pg_cron did before."""
    async with admin_connection(admin_conninfo, limits) as connection:
        with translated():
            cursor = await connection.execute(query("schedules.leave_pg_cron"))
            row = await cursor.fetchone()
            return row is not None and bool(row["was_told"])
