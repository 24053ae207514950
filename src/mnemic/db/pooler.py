"""Connection poolers between Mnemic and PostgreSQL, such as PgBouncer.

A pooler in *session* mode works: a connection keeps its backend process for as long as it is open. In
*transaction* or *statement* mode a connection gets another backend for each transaction, and Mnemic refuses
to open: signatures are valid for one backend, prepared statements, settings, LISTEN and the locks of
migrations belong to one, and what injected SQL leaves on a backend must be removed before another tenant
uses it. Mnemic has a pool of its own, so such a pooler would save little.

A pooler greets a client with a process id that it made up, for cancelling; PostgreSQL with that of the
backend. This tells them apart. Poolers also drop the settings in the start-up packet, so they are sent again.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import scalar_row

from mnemic.errors import ConfigurationError
from mnemic.sql import query

PROBES = 30
"""A pooler may hand out its backends in turn: more than PgBouncer's default of 20 for a pool."""
NOT_SETTABLE = frozenset({"local_preload_libraries"})
"""Settings that PostgreSQL accepts in the start-up packet only."""

WAY_OUT = (
    "Use the direct address of PostgreSQL, or session pooling (PgBouncer: `pool_mode = session`): see "
    "docs/how-to/own-postgresql.md."
)

AnyConnection = AsyncConnection[Any]


async def is_pooled(connection: AnyConnection) -> bool:
    """Whether a pooler is between this connection and its backend process."""
    return await _backend_pid(connection) != connection.info.backend_pid


async def require_session_pooling(connection: AnyConnection, conninfo: str, *, timeout_s: float) -> None:
    """Raise ConfigurationError unless the pooler leaves this connection its backend process.

    A second connection begins transactions: in session mode it never meets the backend of the first one.
    """
    try:
        async with (
            asyncio.timeout(timeout_s),
            await AsyncConnection.connect(conninfo, autocommit=True) as other,
        ):
            shares = await _shares_backends(connection, other)
    except TimeoutError:
        raise ConfigurationError(
            f"The pooler gave no second connection within {timeout_s:g} s: its pool is too small. Mnemic "
            "needs pool_size connections, and three more for a worker (PgBouncer: `default_pool_size`)."
        ) from None
    except psycopg.errors.ProtocolViolation as error:
        # PgBouncer in statement mode: "transaction blocks not allowed in statement pooling mode".
        raise ConfigurationError(
            f"The pooler refuses transactions: {_first_line(error)}. {WAY_OUT}"
        ) from error
    if shares:
        raise ConfigurationError(
            "The address is that of a connection pooler in transaction mode, which gives each transaction "
            f"another session. Mnemic needs a session of its own for each connection. {WAY_OUT}"
        )


def refusal_of_settings(error: psycopg.OperationalError) -> ConfigurationError | None:
    """The error to raise if a pooler refused the settings in the start-up packet; None for other errors."""
    if "unsupported startup parameter" not in str(error):
        return None
    return ConfigurationError(
        f"A connection pooler refused the connection: {_first_line(error)}. PgBouncer accepts it with "
        f"`ignore_startup_parameters = options`, in session mode. {WAY_OUT}"
    )


async def send_settings(connection: AnyConnection, settings: Mapping[str, str]) -> None:
    """Set what the pooler has dropped from the start-up packet."""
    sent = {name: value for name, value in settings.items() if name not in NOT_SETTABLE}
    parameters = {"names": list(sent), "settings": list(sent.values())}
    await connection.execute(query("session.set"), parameters, prepare=False)


async def _shares_backends(first: AnyConnection, second: AnyConnection) -> bool:
    seen = await _backend_pid(first)
    for _ in range(PROBES):
        async with second.transaction():
            if await _backend_pid(second) == seen or await _backend_pid(first) != seen:
                return True
    return False


async def _backend_pid(connection: AnyConnection) -> int:
    async with connection.cursor(row_factory=scalar_row) as cursor:
        await cursor.execute(query("session.backend_pid"), prepare=False)
        return int(await cursor.fetchone() or 0)


def _first_line(error: psycopg.Error) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
