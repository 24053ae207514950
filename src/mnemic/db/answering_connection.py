"""A connection whose server must answer in time, also when the network has stalled.

PostgreSQL limits the time of a statement (`statement_timeout`), but its error does not arrive if packets
vanish, and a statement without an answer would wait for ever. So the client has a limit of its own, a little
longer than the server's. When it is exceeded, the socket is shut down: the driver sees a closed connection
and ends every wait on it. The statement may or may not have been executed.

TCP finds a vanished peer, too, by keepalives and `tcp_user_timeout` (`with_session`), but not a proxy or a
pooler that accepts data and forwards nothing.
"""

import asyncio
import select
import socket
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection

ANSWER_MARGIN_S = 10.0
"""How much longer than `statement_timeout` the client waits: for the network, and a busy event loop."""

LONG_STATEMENT_S = 3600.0
"""The time limit of the statements after `session.extend_timeout`."""

RECHECK_S = 1.0
"""How long an answer that has begun to arrive may take to be read before the socket is looked at again."""

RowType = TypeVar("RowType")


class NoAnswerError(psycopg.OperationalError):
    """The server gave no answer in time; the connection is lost."""


class AnsweringConnection(AsyncConnection[RowType]):
    """Shuts itself down if an answer takes longer than `answer_timeout_s`; None waits for ever.

    While `is_extended` is set, statements have the time limit of `session.extend_timeout`.
    """

    answer_timeout_s: float | None = None
    is_extended = False

    async def wait(self, *arguments: Any, **options: Any) -> Any:
        """Run one exchange with the server. All statements of psycopg go through here."""
        if self.answer_timeout_s is None:
            return await super().wait(*arguments, **options)
        limit_s = LONG_STATEMENT_S + ANSWER_MARGIN_S if self.is_extended else self.answer_timeout_s
        timer = _Timer(self, limit_s)
        try:
            return await super().wait(*arguments, **options)
        except psycopg.OperationalError as error:
            if not timer.has_expired:
                raise
            raise NoAnswerError(
                f"it gave no answer within {limit_s:g} s, and the connection was closed; the statement may "
                "or may not have been executed"
            ) from error
        finally:
            timer.cancel()


class _Timer:
    """Shuts a connection down after its time limit, unless an answer is arriving."""

    def __init__(self, connection: AnsweringConnection[Any], limit_s: float) -> None:
        self.has_expired = False
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._handle = self._loop.call_later(limit_s, self._expire)

    def cancel(self) -> None:
        self._handle.cancel()

    def _expire(self) -> None:
        # A busy loop may run this before it reads an answer that has arrived.
        if has_unread_data(self._connection):
            self._handle = self._loop.call_later(RECHECK_S, self._expire)
        else:
            self.has_expired = True
            shut_down(self._connection)


def has_unread_data(connection: AsyncConnection[Any]) -> bool:
    """Whether a connection has data to read. On an idle one: the server is shutting down, or it is lost."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def shut_down(connection: AsyncConnection[Any] | psycopg.Connection[Any]) -> None:
    """Shut down the socket of a connection, from any thread; libpq keeps the descriptor."""
    try:
        with socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as shared:
            shared.shutdown(socket.SHUT_RDWR)
    except (OSError, psycopg.Error):
        return  # It is closed already.
