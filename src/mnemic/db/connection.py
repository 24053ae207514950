"""Connections as Mnemic wants them: clean, bounded in time, never searching foreign schemas."""

import logging
import select
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
from psycopg import AsyncConnection, AsyncCursor
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row

from mnemic.db.tenancy import LOGIN_PREFIX, Purpose, SigningKey
from mnemic.db.translate import translated
from mnemic.db.wakeups import Wakeup, wakeups_in
from mnemic.sql import query

IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000
RANDOM_PAGE_COST = "1.1"

Row = dict[str, Any]

logger = logging.getLogger("mnemic.connection")


@dataclass(frozen=True)
class Limits:
    """How long things may take, in seconds, and how many connections one process holds."""

    pool_size: int = 10
    statement_timeout_s: float = 30.0
    connect_timeout_s: float = 10.0


AppConnection = AsyncConnection[DictRow]


@asynccontextmanager
async def admin_connection(conninfo: str, limits: Limits) -> AsyncIterator[AppConnection]:
    """A single connection outside the pool, in autocommit mode, for opening and migrating."""
    with translated():
        connection = await AsyncConnection.connect(
            with_session(conninfo, limits, statement_timeout_s=0), autocommit=True, row_factory=dict_row
        )
    async with connection:
        yield connection


def with_session(
    conninfo: str, limits: Limits, *, statement_timeout_s: float, search_path: str = "pg_catalog"
) -> str:
    """Add what every session of ours starts with.

    These go into the start-up packet, so `RESET ALL` returns to them. `pg_temp` stands last in the
    search path, so that a temporary table never hides a table of ours.
    """
    settings = {
        "search_path": f"{search_path},pg_temp",
        "statement_timeout": str(int(statement_timeout_s * 1000)),
        "idle_in_transaction_session_timeout": str(IDLE_IN_TRANSACTION_TIMEOUT_MS),
        "timezone": "UTC",
        # What somebody could have set for the login itself must not keep us from taking it away.
        "role": "none",
        "default_transaction_read_only": "off",
        "lock_timeout": "0",
        "local_preload_libraries": "",
        # What is asked for is in memory or on a disk without a moving head. And the planner, which is told
        # nothing about owners, takes each for one with few rows: at the default of 4 it would read and sort
        # all rows of an owner where an index has the newest ones in order.
        "random_page_cost": RANDOM_PAGE_COST,
    }
    options = " ".join(f"-c {name}={_escaped(value)}" for name, value in settings.items())
    return make_conninfo(
        conninfo,
        options=options,
        application_name="mnemic",
        connect_timeout=max(2, int(limits.connect_timeout_s)),
        client_encoding="UTF8",
    )


def _escaped(value: str) -> str:
    """As libpq's `options` want it: they are split at blanks."""
    return value.replace("\\", "\\\\").replace(" ", "\\ ")


async def begin_proven(
    connection: AppConnection, key: SigningKey, subjects: Mapping[Purpose, str], *, begin: LiteralString
) -> None:
    """Begin a transaction and prove, for each purpose, whom it is for."""
    cursor = await connection.execute(begin)
    cursor.nextset()
    row = await cursor.fetchone()
    assert row is not None, "mnemic.transaction_identity() returns one row"
    for purpose, subject in subjects.items():
        proof = key.proof(purpose, subject, moment=row["moment"])
        parameters = {"purpose": purpose, "subject": subject, "proof": proof}
        await connection.execute(query("session.prove"), parameters)


def has_news(connection: AppConnection) -> bool:
    """Whether an idle connection has something to read: its server ends, or is gone."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


async def process_of(connection: AppConnection) -> str:
    """How the database names the server process of a connection, for signatures."""
    cursor = await connection.execute(query("session.process"))
    return str((await cursor.fetchone() or {})["process"])


class PlantedError(Exception):
    """A transaction left something for others behind; the connection is thrown away."""


async def refuse_planted_settings(connection: AppConnection) -> None:
    """Take away the settings that somebody gave to Mnemic's own login for all of its new connections.

    PostgreSQL lets every role `ALTER ROLE … SET` for itself, so SQL smuggled into one tenant's
    transaction could slow down or falsify what the others do from then on. To a login that an
    administrator made, and perhaps tuned, nothing is done.
    """
    if not connection.info.user.startswith(LOGIN_PREFIX) or not await _has_own_settings(connection):
        return
    await connection.execute(query("session.forget_own_settings"))
    if await _has_own_settings(connection):
        # Better to work with them than not at all.
        logger.error("the login %s has settings that only an administrator can remove", connection.info.user)
        return
    await connection.close()
    raise PlantedError("the application's login had settings of its own, which were removed")


async def _has_own_settings(connection: AppConnection) -> bool:
    cursor = await connection.execute(query("session.own_settings"))
    return await cursor.fetchone() is not None


@dataclass(frozen=True)
class Committed:
    """Result of a commit: whether the connection is clean already, and which wakeups were left."""

    is_clean: bool
    wakeups: frozenset[Wakeup] = frozenset()


async def commit_and_clean(connection: AppConnection) -> Committed:
    """Commit, read the wakeups and clean, in one round trip.

    The connection is still to be cleaned where SQL has ended the transaction itself, or has left something
    that cleaning cannot take away. A commit that fails is an error, and the connection is to be cleaned, too.
    So is cleaning that fails after the commit, as if the server were lost in that moment; only SQL that
    planted something can cause it.
    """
    if connection.info.transaction_status is not TransactionStatus.INTRANS:
        return Committed(is_clean=False)
    cursor = await connection.execute(query("session.commit_and_clean"))
    cursor.nextset()
    row = await cursor.fetchone()
    wakeups = wakeups_in(row["hints"]) if row is not None else frozenset[Wakeup]()
    return Committed(await _leaves_nothing(cursor), wakeups)


async def clean_or_close(connection: AppConnection) -> None:
    """Take away what the last transaction may have left, before another tenant gets the connection."""
    if connection.closed:
        return
    try:
        if not await _leaves_nothing(await connection.execute(query("session.clean"))):
            raise PlantedError("statements were prepared by SQL on a pooled connection")
    except (psycopg.Error, PlantedError) as error:
        logger.warning("a connection could not be cleaned and is closed: %s", error)
        await connection.close()
    except BaseException:
        await connection.close()
        raise


async def _leaves_nothing(cursor: AsyncCursor[DictRow]) -> bool:
    """Whether a cleaning left nothing that the next tenant could meet: its last result tells."""
    while cursor.nextset():
        pass
    row = await cursor.fetchone()
    return row is not None and not row["planted"]
