"""A connection of its own for a statement that is made again and again, such as a worker's turn.

The connections of a pool take turns. Each has a server process of its own, which then finds little of what it
works with in the processor's caches, and every use is booked in and out. Who says the same thing all the time
is served faster by one process that does nothing else.

States: *closed* → (`rows`) *open* → (lost, or `aclose`) *closed* …
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import psycopg
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import TupleRow, dict_row, tuple_row

from mnemic.db.connection import AppConnection, PlantedError, has_news, process_of, refuse_planted_settings
from mnemic.db.tenancy import SignedPurpose, SigningKey
from mnemic.db.translate import translated
from mnemic.sql import query

CONNECT_ATTEMPTS = 5


class Line:
    """Statements that are signed for one purpose, each a transaction by itself. For one task at a time."""

    def __init__(
        self, conninfo: Callable[[], Awaitable[str]], key: SigningKey, purpose: SignedPurpose, subject: str
    ) -> None:
        self._conninfo = conninfo
        self._key = key
        self._purpose = purpose
        self._subject = subject
        self._signature = ""
        self._cursor: AsyncCursor[TupleRow] | None = None

    async def rows(self, name: str, parameters: Mapping[str, Any]) -> list[TupleRow]:
        """All rows of a query that takes a `signature`. Even if it fails it may have been carried out."""
        with translated():
            cursor = await self._living_cursor()
            await cursor.execute(query(name), {**parameters, "signature": self._signature})
            return await cursor.fetchall()

    async def aclose(self) -> None:
        """Hang up; the next call connects again."""
        cursor, self._cursor = self._cursor, None
        if cursor is not None:
            await cursor.connection.close()

    async def _living_cursor(self) -> AsyncCursor[TupleRow]:
        """One whose server has not gone away meanwhile, which can be seen before anything is sent."""
        if self._cursor is not None and (self._cursor.connection.closed or has_news(self._cursor.connection)):
            await self.aclose()
        if self._cursor is None:
            self._cursor = (await self._connect()).cursor(row_factory=tuple_row)
        return self._cursor

    async def _connect(self) -> AppConnection:
        """A new connection, and the signature that holds for its server process."""
        for _ in range(CONNECT_ATTEMPTS):
            connection = await AsyncConnection.connect(
                await self._conninfo(), autocommit=True, row_factory=dict_row
            )
            try:
                await refuse_planted_settings(connection)
                process = await process_of(connection)
            except PlantedError:
                continue  # It has been closed, and the next one will have none.
            except BaseException:
                await connection.close()
                raise
            self._signature = self._key.signature(self._purpose, self._subject, process=process)
            return connection
        raise psycopg.OperationalError("the login is given settings of its own again and again")
