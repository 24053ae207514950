"""Create, drop and swap databases of the embedded server by name, for a restore beside the old database."""

import secrets

import psycopg
from psycopg import sql

from mnemic.db.connection import AppConnection, Limits, admin_connection
from mnemic.db.translate import translated
from mnemic.errors import ConflictError
from mnemic.sql import query

# A client that reconnects between being disconnected and the swap makes the swap fail after five seconds.
SWAP_ATTEMPTS = 5


async def make_database(conninfo: str, name: str, limits: Limits) -> None:
    """Create an empty database; `conninfo` names another database of the same server."""
    await _run(conninfo, limits, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


async def drop_database(conninfo: str, name: str, limits: Limits) -> None:
    """Drop a database if it exists, and disconnect its users."""
    await _run(
        conninfo, limits, sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    )


async def check_replaceable(conninfo: str, final_name: str, limits: Limits, *, replace: bool) -> bool:
    """Whether there is a database of this name; ConflictError if there is and it must not be replaced."""
    async with admin_connection(conninfo, limits) as connection:
        cursor = await connection.execute(query("provision.database_exists"), {"name": final_name})
        exists = await cursor.fetchone() is not None
    if exists and not replace:
        raise ConflictError(
            "The data folder already holds memories. Restore into a new data folder, or allow replacing "
            "them (replace)."
        )
    return exists


async def swap_in(conninfo: str, name: str, final_name: str, limits: Limits, *, replace: bool) -> None:
    """Rename a database to its final name; a database of that name is dropped if `replace` allows it.

    Both are renamed in one transaction, so the final name always belongs to one of them.
    """
    if not await check_replaceable(conninfo, final_name, limits, replace=replace):
        await _run(conninfo, limits, _renaming(name, final_name))
        return
    retired = f"replaced_{secrets.token_hex(6)}"
    async with admin_connection(conninfo, limits) as connection:
        with translated():
            await _swap(connection, name, final_name, retired)
    await drop_database(conninfo, retired, limits)


async def _swap(connection: AppConnection, name: str, final_name: str, retired: str) -> None:
    for attempt in range(1, SWAP_ATTEMPTS + 1):
        try:
            async with connection.transaction():
                await connection.execute(query("provision.disconnect"), {"name": final_name})
                await connection.execute(_renaming(final_name, retired))
                await connection.execute(_renaming(name, final_name))
            return
        except psycopg.errors.ObjectInUse:
            if attempt == SWAP_ATTEMPTS:
                raise


def _renaming(name: str, new_name: str) -> sql.Composed:
    return sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(name), sql.Identifier(new_name))


async def _run(conninfo: str, limits: Limits, statement: sql.Composed) -> None:
    async with admin_connection(conninfo, limits) as connection:
        with translated():
            await connection.execute(statement)
