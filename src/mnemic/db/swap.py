"""Databases of the embedded server by name, for restoring beside what is there and swapping in one step."""

from psycopg import sql

from mnemic.db.connection import Limits, admin_connection
from mnemic.db.translate import translated
from mnemic.errors import ConflictError
from mnemic.sql import query


async def make_database(conninfo: str, name: str, limits: Limits) -> None:
    """Make an empty database; `conninfo` leads to another one of the same server."""
    await _run(conninfo, limits, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


async def drop_database(conninfo: str, name: str, limits: Limits) -> None:
    """Drop a database if it is there, and disconnect whoever uses it."""
    await _run(
        conninfo, limits, sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    )


async def put_in_place(conninfo: str, name: str, place: str, limits: Limits, *, replace: bool) -> None:
    """Give a database its final name; what has that name goes, if `replace` allows it and it is not empty."""
    async with admin_connection(conninfo, limits) as connection:
        cursor = await connection.execute(query("provision.database_exists"), {"name": place})
        exists = await cursor.fetchone()
    if exists is not None:
        if not replace:
            raise ConflictError(
                "There is a memory in this place already. Restore into a new data folder, or say that it "
                "may be replaced."
            )
        await drop_database(conninfo, place, limits)
    await _run(
        conninfo,
        limits,
        sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(name), sql.Identifier(place)),
    )


async def _run(conninfo: str, limits: Limits, statement: sql.Composed) -> None:
    async with admin_connection(conninfo, limits) as connection:
        with translated():
            await connection.execute(statement)
