"""Everything in one file, and back: all tenants, with their history, vectors and keys.

A backup is PostgreSQL's own (`pg_dump`, custom format): one consistent moment, taken while others
work. A restore fills an *empty* database and then migrates it, so that a backup of an older Mnemic
can be restored by a newer one. What is half-written never has the final name: a backup is renamed
when it is complete, and a restore runs in one transaction.
"""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow

from mnemic.db.connection import Limits, admin_connection
from mnemic.db.embedded import server_binaries
from mnemic.db.migrate import make_prerequisites, migrate
from mnemic.errors import ConflictError, DatabaseError, InvalidInputError, NotFoundError
from mnemic.govern.files import new_file
from mnemic.sql import query

_MAGIC = b"PGDMP"
_SAID_MAX_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup."""

    path: Path
    size_bytes: int


async def back_up(conninfo: str, path: Path, *, replace: bool = False) -> Backup:
    """Write everything into one file, readable by its owner only."""
    with new_file(path, replace=replace) as file:
        await _run(
            "pg_dump", conninfo, "--format=custom", "--no-owner", "--no-comments", f"--file={file.name}"
        )
        size_bytes = os.fstat(file.fileno()).st_size
    return Backup(path, size_bytes)


async def restore_into(conninfo: str, path: Path, limits: Limits) -> None:
    """Fill an empty database from a backup; ConflictError if it is not empty."""
    check_backup(path)
    async with admin_connection(conninfo, limits) as connection:
        if await has_mnemic(connection):
            raise ConflictError("The database is not empty: restore into a new one.")
        await make_prerequisites(connection)
    await _run("pg_restore", conninfo, "--no-owner", "--single-transaction", "--exit-on-error", str(path))
    async with admin_connection(conninfo, limits) as connection:
        await connection.execute(query("provision.seal_again"))
    await migrate(conninfo, limits)


async def has_mnemic(connection: AsyncConnection[DictRow]) -> bool:
    """Whether the database holds anything of Mnemic's."""
    cursor = await connection.execute(query("provision.has_mnemic"))
    row = await cursor.fetchone()
    return row is not None and bool(row["has_mnemic"])


def check_backup(path: Path) -> None:
    """Refuse what is not a backup before anything is touched."""
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise NotFoundError(f"The backup {path} cannot be read: {error.strerror}.") from error
    if magic != _MAGIC:
        raise InvalidInputError(f"{path} is not a backup of Mnemic.")


async def _run(program: str, conninfo: str, *arguments: str) -> None:
    """Run one of PostgreSQL's tools. A password goes through the environment, where `ps` does not show it."""
    parts = conninfo_to_dict(conninfo)
    password = parts.pop("password", None)
    environment = {**os.environ, **({"PGPASSWORD": str(password)} if password is not None else {})}
    address = make_conninfo("", **{name: str(value) for name, value in parts.items() if value is not None})
    process = await asyncio.create_subprocess_exec(
        server_binaries() / program,
        "--no-password",
        f"--dbname={address}",
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    try:
        _, said = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        text = said.decode(errors="replace").strip()[-_SAID_MAX_CHARACTERS:]
        raise DatabaseError(f"{program} failed:\n{text}")
