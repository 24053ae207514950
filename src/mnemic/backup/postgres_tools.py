"""Run `pg_dump` and `pg_restore`, those of the embedded server, which read older servers, too."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from tempfile import TemporaryFile
from typing import IO

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from mnemic.db.embedded import server_binaries
from mnemic.errors import DatabaseError

READ_BYTES = 1 << 18

_STDERR_MAX_BYTES = 2000

Read = Callable[[], Awaitable[bytes]]


async def run_on(conninfo: str, program: str, *arguments: str) -> None:
    """Run a program on a database.

    A password goes through the environment, where `ps` does not show it.
    """
    parts = conninfo_to_dict(conninfo)
    password = parts.pop("password", None)
    address = make_conninfo("", **{name: str(value) for name, value in parts.items() if value is not None})
    environment = {"PGPASSWORD": str(password)} if password is not None else {}
    arguments = ("--no-password", f"--dbname={address}", *arguments)
    async with output_of(program, *arguments, environment=environment) as read:
        while await read():
            pass


@asynccontextmanager
async def output_of(
    program: str, *arguments: str, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Read]:
    """Run a program while the block reads its standard output, `b""` at the end.

    The last read raises DatabaseError if the program failed. A block that ends before it kills the program.
    """
    with TemporaryFile() as errors:
        process = await asyncio.create_subprocess_exec(
            server_binaries() / program,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **(environment or {})},
            limit=READ_BYTES,
        )
        try:
            yield lambda: _read(process, program, errors)
        finally:
            if process.returncode is None:
                process.kill()
                # asyncio does not see the end of a process whose output is not read to the end.
                await process.communicate()


async def _read(process: asyncio.subprocess.Process, program: str, errors: IO[bytes]) -> bytes:
    assert process.stdout is not None, "it is a pipe"
    chunk = await process.stdout.read(READ_BYTES)
    if not chunk and await process.wait():
        raise _failure(program, errors)
    return chunk


def _failure(program: str, errors: IO[bytes]) -> DatabaseError:
    # The first line has the reason, and the statement after it can be longer than the limit.
    errors.seek(0)
    start = errors.read(_STDERR_MAX_BYTES).decode(errors="replace")
    errors.seek(max(0, os.fstat(errors.fileno()).st_size - _STDERR_MAX_BYTES))
    text = errors.read().decode(errors="replace").strip()
    is_denied = any(reason in start + text for reason in ("permission denied", "row-level security"))
    if program == "pg_dump" and is_denied:
        text += (
            "\nA backup reads all tenants: take it with the URL of a superuser, or of a role that has "
            "BYPASSRLS and is a member of pg_read_all_data."
        )
    return DatabaseError(f"{program} failed:\n{text}")
