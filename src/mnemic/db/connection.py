"""Connections: their session settings and timeouts, how a transaction begins, and how one is cleaned."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
from psycopg import AsyncCursor
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row

from mnemic.db.answering_connection import ANSWER_MARGIN_S, AnsweringConnection
from mnemic.db.pooler import is_pooled, refusal_of_settings, require_session_pooling, send_settings
from mnemic.db.schema_version import admin_session_name, session_name
from mnemic.db.tenancy import LOGIN_PREFIX, Purpose, SigningKey
from mnemic.db.translate import translated
from mnemic.db.wakeups import Wakeup, wakeups_in
from mnemic.sql import query

IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000
DETECT_LOST_PEER = {
    # After half a minute of silence ask every ten seconds; the third question without an answer ends it.
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    # In milliseconds: how long sent data may stay without the acknowledgement of the peer's machine.
    "tcp_user_timeout": 60_000,
}
"""How TCP notices that the server's machine or the network to it is gone. A URL may set these itself."""
RANDOM_PAGE_COST = "1.1"

Row = dict[str, Any]

logger = logging.getLogger("mnemic.connection")


@dataclass(frozen=True)
class Limits:
    """Timeouts in seconds, and the maximum size of the connection pool."""

    pool_size: int = 10
    statement_timeout_s: float = 30.0
    connect_timeout_s: float = 10.0
    other_versions_timeout_s: float = 10.0

    @property
    def answer_timeout_s(self) -> float:
        """How long the client waits for the answer to a statement."""
        return self.statement_timeout_s + ANSWER_MARGIN_S


AppConnection = AnsweringConnection[DictRow]


@asynccontextmanager
async def admin_connection(conninfo: str, limits: Limits) -> AsyncIterator[AppConnection]:
    """A single connection outside the pool, in autocommit mode, for opening and migrating."""
    started = make_conninfo(
        with_session(conninfo, limits, statement_timeout_s=0), application_name=admin_session_name()
    )
    with translated():
        connection = await _connect(started)
    async with connection:
        with translated():
            if await is_pooled(connection):
                await require_session_pooling(connection, started, timeout_s=limits.connect_timeout_s)
                await send_settings(connection, session_settings(statement_timeout_s=0))
        yield connection


async def _connect(conninfo: str) -> AppConnection:
    """Connect in autocommit mode; ConfigurationError if a pooler refuses the settings."""
    try:
        return await AppConnection.connect(conninfo, autocommit=True, row_factory=dict_row)
    except psycopg.OperationalError as error:
        refusal = refusal_of_settings(error)
        if refusal is None:
            raise
        raise refusal from error


def session_settings(*, statement_timeout_s: float, search_path: str = "pg_catalog") -> dict[str, str]:
    """The settings that every session of Mnemic starts with.

    `pg_temp` is last in the search path, so that a temporary table never hides a table of Mnemic.
    """
    return {
        "search_path": f"{search_path},pg_temp",
        "statement_timeout": str(int(statement_timeout_s * 1000)),
        "idle_in_transaction_session_timeout": str(IDLE_IN_TRANSACTION_TIMEOUT_MS),
        "timezone": "UTC",
        # Override settings stored for the login: they must not prevent us from removing them.
        "role": "none",
        "default_transaction_read_only": "off",
        "lock_timeout": "0",
        "local_preload_libraries": "",
        # Pages are in memory or on an SSD. Also, the planner has no statistics about owners and assumes that
        # each has few rows: at the default of 4 it would read and sort all rows of an owner instead of using
        # the index that has the newest ones in order.
        "random_page_cost": RANDOM_PAGE_COST,
    }


def with_session(
    conninfo: str, limits: Limits, *, statement_timeout_s: float, search_path: str = "pg_catalog"
) -> str:
    """Add the settings of a session. They go into the start-up packet, so `RESET ALL` returns to them."""
    settings = session_settings(statement_timeout_s=statement_timeout_s, search_path=search_path)
    options = " ".join(f"-c {name}={_escaped(value)}" for name, value in settings.items())
    given = conninfo_to_dict(conninfo)
    return make_conninfo(
        conninfo,
        **{name: value for name, value in DETECT_LOST_PEER.items() if name not in given},
        options=options,
        application_name=session_name(),
        connect_timeout=max(2, int(limits.connect_timeout_s)),
        client_encoding="UTF8",
    )


def _escaped(value: str) -> str:
    """Escaped for libpq's `options`, which are split at blanks."""
    return value.replace("\\", "\\\\").replace(" ", "\\ ")


async def begin_transaction(
    connection: AppConnection, key: SigningKey, subjects: Mapping[Purpose, str], *, begin: LiteralString
) -> None:
    """Begin a transaction, and state and prove the subject of each purpose (see `mnemic.db.tenancy`)."""
    cursor = await connection.execute(begin)
    cursor.nextset()
    row = await cursor.fetchone()
    assert row is not None, "mnemic.transaction_identity() returns one row"
    for purpose, subject in subjects.items():
        proof = key.proof(purpose, subject, moment=row["moment"])
        parameters = {"purpose": purpose, "subject": subject, "proof": proof}
        await connection.execute(query("session.prove"), parameters)


async def backend_identity(connection: AppConnection) -> str:
    """Identity of the connection's backend process, for signatures."""
    cursor = await connection.execute(query("session.process"))
    return str((await cursor.fetchone() or {})["process"])


class DirtyConnectionError(Exception):
    """A transaction left state behind that cleaning cannot remove; the connection is closed."""


async def remove_login_settings(connection: AppConnection) -> None:
    """Remove settings stored for Mnemic's own login, which apply to all of its new connections.

    PostgreSQL lets every role `ALTER ROLE … SET` for itself, so SQL injected into one tenant's transaction
    could slow down or falsify the transactions of other tenants. Settings of a login that an administrator
    created are left alone. Raises DirtyConnectionError after closing a connection that had such settings.
    """
    if not connection.info.user.startswith(LOGIN_PREFIX) or not await _has_own_settings(connection):
        return
    await connection.execute(query("session.forget_own_settings"))
    if await _has_own_settings(connection):
        # Continue with the settings rather than refuse to work.
        logger.error("the login %s has settings that only an administrator can remove", connection.info.user)
        return
    await connection.close()
    raise DirtyConnectionError("settings stored for the application's login were removed")


async def _has_own_settings(connection: AppConnection) -> bool:
    cursor = await connection.execute(query("session.own_settings"))
    return await cursor.fetchone() is not None


@dataclass(frozen=True)
class CommitResult:
    """Result of a commit: whether the connection is clean already, and which wakeups it requested."""

    is_clean: bool
    wakeups: frozenset[Wakeup] = frozenset()


async def commit_and_clean(connection: AppConnection) -> CommitResult:
    """Commit, read the wakeups and clean, in one round trip.

    The result says that the connection is not clean if SQL has ended the transaction itself, or has left
    state that cleaning cannot remove. A failed commit raises, and so does cleaning that fails after the
    commit, which only injected SQL can cause; in both cases the caller must clean the connection.
    """
    if connection.info.transaction_status is not TransactionStatus.INTRANS:
        return CommitResult(is_clean=False)
    cursor = await connection.execute(query("session.commit_and_clean"))
    cursor.nextset()
    row = await cursor.fetchone()
    wakeups = wakeups_in(row["wakeups"]) if row is not None else frozenset[Wakeup]()
    return CommitResult(await _leaves_nothing(cursor), wakeups)


async def clean_or_close(connection: AppConnection) -> None:
    """Remove what the last transaction may have left, before another tenant gets the connection."""
    if connection.closed:
        return
    try:
        if not await _leaves_nothing(await connection.execute(query("session.clean"))):
            raise DirtyConnectionError("statements were prepared by SQL on a pooled connection")
    except (psycopg.Error, DirtyConnectionError) as error:
        logger.warning("a connection could not be cleaned and is closed: %s", error)
        await connection.close()
    except BaseException:
        await connection.close()
        raise


async def send_settings_or_close(connection: AppConnection, settings: Mapping[str, str]) -> None:
    """Behind a pooler: set again what cleaning has reset."""
    if connection.closed:
        return
    try:
        await send_settings(connection, settings)
    except psycopg.Error as error:
        logger.warning("a connection lost its settings and is closed: %s", error)
        await connection.close()
    except BaseException:
        await connection.close()
        raise


async def _leaves_nothing(cursor: AsyncCursor[DictRow]) -> bool:
    """Whether cleaning removed everything that the next tenant could see, by its last result."""
    while cursor.nextset():
        pass
    row = await cursor.fetchone()
    return row is not None and not row["leftover_statements"]
