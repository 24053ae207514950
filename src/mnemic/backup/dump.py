"""Back up everything into one file, and restore it: all tenants with their history, vectors and keys.

A backup is made by `pg_dump` (custom format): a consistent snapshot, taken while others work. A restore
fills an *empty* database and then migrates it, so that a newer Mnemic can restore a backup of an older one.
A backup file gets its final name when it is complete, and a restore runs in one transaction.
"""

import asyncio
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import InsufficientPrivilege, InvalidSchemaName

from mnemic.backup.files import new_file
from mnemic.db.connection import AppConnection, Limits, admin_connection
from mnemic.db.embedded import server_binaries
from mnemic.db.migrate import make_roles, migrate
from mnemic.db.translate import translated
from mnemic.errors import (
    ConflictError,
    DatabaseError,
    InvalidInputError,
    MissingPrivilegeError,
    NotFoundError,
)
from mnemic.sql import query

_MAGIC = b"PGDMP"
_STDERR_MAX_CHARACTERS = 2000
_VECTOR = re.compile(r"^CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA (?P<schema>.+);$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup."""

    path: Path
    size_bytes: int


async def back_up(conninfo: str, path: Path, *, replace: bool = False) -> Backup:
    """Write everything into one file that only its owner can read."""
    with new_file(path, replace=replace) as file:
        await _run_in(
            conninfo, "pg_dump", "--format=custom", "--no-owner", "--no-comments", f"--file={file.name}"
        )
        size_bytes = os.fstat(file.fileno()).st_size
    return Backup(path, size_bytes)


async def restore_into(conninfo: str, path: Path, limits: Limits) -> None:
    """Fill an empty database from a backup; ConflictError if it is not empty."""
    check_backup(path)
    vector_schema = await _vector_schema(path)
    async with admin_connection(conninfo, limits) as connection:
        with translated():
            if await has_mnemic(connection):
                raise ConflictError("The database is not empty: restore into a new one.")
            needs = await make_roles(connection)
            if not needs["lacks_vector"]:
                await _move_vector(connection, vector_schema)
    await _run_in(conninfo, "pg_restore", "--no-owner", "--single-transaction", "--exit-on-error", str(path))
    async with admin_connection(conninfo, limits) as connection:
        with translated():
            await _restore_ownership(connection, joins_definer=not needs["is_definer"])
    await migrate(conninfo, limits)


async def _restore_ownership(connection: AppConnection, *, joins_definer: bool) -> None:
    async with connection.transaction():
        if joins_definer:
            await connection.execute(query("provision.join_definer"))
        await connection.execute(query("provision.seal_again"))
        if joins_definer:
            await connection.execute(query("provision.leave_definer"))


async def _vector_schema(path: Path) -> str:
    """The schema of pgvector in the backup, which its vector types are qualified with."""
    schema = await _run("pg_restore", "--section=pre-data", "--file=-", str(path))
    found = _VECTOR.search(schema.decode())
    if found is None:
        raise InvalidInputError(f"{path} is a PostgreSQL backup, but not one of Mnemic.")
    return found["schema"].strip('"').replace('""', '"')


async def _move_vector(connection: AppConnection, schema: str) -> None:
    """Move the installed pgvector to the schema that the backup expects."""
    cursor = await connection.execute(query("session.who"))
    who = await cursor.fetchone()
    if who is None or who["vector_schema"] == schema:
        return
    moving = sql.SQL("ALTER EXTENSION vector SET SCHEMA {}").format(sql.Identifier(schema))
    try:
        await connection.execute(moving)
    except (InsufficientPrivilege, InvalidSchemaName) as error:
        raise MissingPrivilegeError(
            f"The backup has pgvector in the schema {schema!r}, this database has it in "
            f"{who['vector_schema']!r}.",
            sql=f"{moving.as_string(connection)};",
        ) from error


async def has_mnemic(connection: AppConnection) -> bool:
    """Whether the database contains Mnemic's schemas."""
    cursor = await connection.execute(query("provision.has_mnemic"))
    row = await cursor.fetchone()
    return row is not None and bool(row["has_mnemic"])


def check_backup(path: Path) -> None:
    """Refuse a file that is not a backup, before anything changes."""
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise NotFoundError(f"The backup {path} cannot be read: {error.strerror}.") from error
    if magic != _MAGIC:
        raise InvalidInputError(f"{path} is not a backup of Mnemic.")


async def _run_in(conninfo: str, program: str, *arguments: str) -> None:
    """Run one of PostgreSQL's tools on a database.

    A password goes through the environment, where `ps` does not show it.
    """
    parts = conninfo_to_dict(conninfo)
    password = parts.pop("password", None)
    address = make_conninfo("", **{name: str(value) for name, value in parts.items() if value is not None})
    environment = {"PGPASSWORD": str(password)} if password is not None else {}
    await _run(program, "--no-password", f"--dbname={address}", *arguments, environment=environment)


async def _run(program: str, *arguments: str, environment: Mapping[str, str] | None = None) -> bytes:
    """Run one of PostgreSQL's tools; returns its standard output."""
    process = await asyncio.create_subprocess_exec(
        server_binaries() / program,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **(environment or {})},
    )
    try:
        output, errors = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        raise _failure(program, errors.decode(errors="replace").strip()[-_STDERR_MAX_CHARACTERS:])
    return output


def _failure(program: str, errors: str) -> DatabaseError:
    if program == "pg_dump" and ("permission denied" in errors or "row-level security" in errors):
        errors += (
            "\nA backup reads all tenants: take it with the URL of a superuser, or of a role that has "
            "BYPASSRLS and is a member of pg_read_all_data."
        )
    return DatabaseError(f"{program} failed:\n{errors}")
