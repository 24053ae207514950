"""A connection that listens for NOTIFY and reconnects by itself.

States: *connecting* → *listening* → (connection lost) → *connecting* … until the task is cancelled.
Notifications sent while the listener is connecting are lost. So `on_ready` is called each time listening
begins; the callback then polls the table for missed rows.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow

from mnemic.db.access import Access
from mnemic.db.answering_connection import ANSWER_MARGIN_S, AnsweringConnection
from mnemic.errors import InvalidInputError

FIRST_RETRY_S = 0.1
LONGEST_RETRY_S = 10.0
# A lost connection is detected only by sending, so a heartbeat query is sent.
HEARTBEAT_S = 30.0
CHANNEL_MAX_BYTES = 63

logger = logging.getLogger("mnemic.listen")


class Listener:
    """Calls `on_notify(channel, payload)` for each notification on some channels."""

    def __init__(
        self,
        access: Access,
        channels: Sequence[str],
        *,
        on_notify: Callable[[str, str], None],
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        for channel in channels:
            if not 0 < len(channel.encode()) <= CHANNEL_MAX_BYTES:
                raise InvalidInputError(
                    f"A channel's name has 1 to {CHANNEL_MAX_BYTES} bytes, not {channel!r}."
                )
        self._access = access
        self._channels = tuple(channels)
        self._on_notify = on_notify
        self._on_ready = on_ready

    async def run(self) -> None:
        """Listen until cancelled."""
        retry_s = FIRST_RETRY_S
        while True:
            try:
                async with await AnsweringConnection[TupleRow].connect(
                    self._access.conninfo(), autocommit=True
                ) as connection:
                    # Longer than a wait for notifications, so that only the heartbeat query can exceed it.
                    connection.answer_timeout_s = HEARTBEAT_S + ANSWER_MARGIN_S
                    await self._subscribe(connection)
                    retry_s = FIRST_RETRY_S
                    await self._receive(connection)
            except psycopg.OperationalError as error:
                logger.warning("listening was interrupted, trying again in %.1f s: %s", retry_s, error)
            await asyncio.sleep(retry_s)
            retry_s = min(2 * retry_s, LONGEST_RETRY_S)

    async def _subscribe(self, connection: AsyncConnection) -> None:
        for channel in self._channels:
            await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        self._on_ready()

    async def _receive(self, connection: AsyncConnection) -> None:
        while True:
            async for notification in connection.notifies(timeout=HEARTBEAT_S):
                self._on_notify(notification.channel, notification.payload)
            await connection.execute("SELECT 1")
