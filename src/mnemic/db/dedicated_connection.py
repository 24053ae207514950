"""A dedicated connection for a statement that runs again and again, such as a worker's settle-and-claim.

Connections of a pool alternate. Each has its own backend process, which then finds little of its working set
in the CPU caches, and every use has the overhead of the pool. One backend that runs only this statement is
faster.

States: *closed* → (`rows`) *open* → (lost, or `aclose`) *closed* …
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import psycopg
from psycopg import AsyncCursor
from psycopg.rows import TupleRow, dict_row, tuple_row

from mnemic.db.answering_connection import has_unread_data
from mnemic.db.connection import (
    AppConnection,
    DirtyConnectionError,
    backend_identity,
    remove_login_settings,
)
from mnemic.db.pooler import send_settings
from mnemic.db.tenancy import SignedPurpose, SigningKey
from mnemic.db.translate import translated
from mnemic.sql import query

CONNECT_ATTEMPTS = 5


class DedicatedConnection:
    """Runs statements signed for one purpose, each a transaction by itself. For one task at a time."""

    def __init__(
        self,
        conninfo: Callable[[], Awaitable[str]],
        key: SigningKey,
        purpose: SignedPurpose,
        subject: str,
        *,
        check: Callable[[AppConnection], Awaitable[None]],
        pooler_settings: Mapping[str, str] | None = None,
        answer_timeout_s: float,
    ) -> None:
        self._answer_timeout_s = answer_timeout_s
        self._conninfo = conninfo
        self._check = check
        self._key = key
        self._purpose = purpose
        self._subject = subject
        self._pooler_settings = pooler_settings
        self._signature = ""
        self._cursor: AsyncCursor[TupleRow] | None = None

    async def rows(self, name: str, parameters: Mapping[str, Any]) -> list[TupleRow]:
        """All rows of a query that takes a `signature`. A query that fails may still have been executed."""
        with translated():
            cursor = await self._open_cursor()
            await cursor.execute(query(name), {**parameters, "signature": self._signature})
            return await cursor.fetchall()

    async def aclose(self) -> None:
        """Close the connection; the next call connects again."""
        cursor, self._cursor = self._cursor, None
        if cursor is not None:
            await cursor.connection.close()

    async def _open_cursor(self) -> AsyncCursor[TupleRow]:
        """A cursor on a live connection; a lost one is detected before anything is sent, and replaced."""
        if self._cursor is not None and (
            self._cursor.connection.closed or has_unread_data(self._cursor.connection)
        ):
            await self.aclose()
        if self._cursor is None:
            self._cursor = (await self._connect()).cursor(row_factory=tuple_row)
        return self._cursor

    async def _connect(self) -> AppConnection:
        """Connect, and sign for the new backend process."""
        for _ in range(CONNECT_ATTEMPTS):
            connection = await AppConnection.connect(
                await self._conninfo(), autocommit=True, row_factory=dict_row
            )
            connection.answer_timeout_s = self._answer_timeout_s
            try:
                await self._check(connection)
                await remove_login_settings(connection)
                if self._pooler_settings is not None:
                    await send_settings(connection, self._pooler_settings)
                process = await backend_identity(connection)
            except DirtyConnectionError:
                continue  # It is closed, and the next connection will not have these settings.
            except BaseException:
                await connection.close()
                raise
            self._signature = self._key.signature(self._purpose, self._subject, process=process)
            return connection
        raise psycopg.OperationalError(
            f"{CONNECT_ATTEMPTS} connections in a row had settings stored for the login"
        )
