"""Back up everything into one file, and restore it: all tenants with their history, vectors and keys.

A backup is made by `pg_dump` (custom format): a consistent snapshot, taken while others work. A restore
fills an *empty* database with its rows (`mnemic.backup.load`) and then migrates it, so that a newer Mnemic
can restore a backup of an older one. A backup file gets its final name when it is complete.
"""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from mnemic.backup.archive import check_archive, seal
from mnemic.backup.files import new_file
from mnemic.backup.load import describe, load
from mnemic.backup.postgres_tools import run_on
from mnemic.db.connection import AppConnection, Limits, admin_connection
from mnemic.db.migrate import migrate
from mnemic.db.translate import translated
from mnemic.errors import ConflictError
from mnemic.sql import query


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup."""

    path: Path
    size_bytes: int


async def back_up(conninfo: str, path: Path, *, replace: bool = False) -> Backup:
    """Write everything into one file that only its owner can read."""
    with new_file(path, replace=replace) as file:
        options = ("--format=custom", "--no-owner", "--no-comments", f"--file={file.name}")
        await run_on(conninfo, "pg_dump", *options)
        await asyncio.to_thread(seal, file)
        size_bytes = os.fstat(file.fileno()).st_size
    return Backup(path, size_bytes)


async def check_backup(path: Path) -> None:
    """Refuse a file that is not a backup, or is damaged, before anything changes."""
    await asyncio.to_thread(check_archive, path)


async def restore_into(conninfo: str, path: Path, limits: Limits) -> None:
    """Fill an empty database from a backup; ConflictError if it is not empty."""
    await check_backup(path)
    backup = await describe(path)
    async with admin_connection(conninfo, limits) as connection:
        with translated():
            if await _has_mnemic(connection):
                raise ConflictError("The database is not empty: restore into a new one.")
            await load(connection, backup)
    await migrate(conninfo, limits)


async def _has_mnemic(connection: AppConnection) -> bool:
    """Whether the database contains Mnemic's schemas."""
    cursor = await connection.execute(query("provision.has_mnemic"))
    row = await cursor.fetchone()
    return row is not None and bool(row["has_mnemic"])
