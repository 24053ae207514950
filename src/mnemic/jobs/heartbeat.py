"""The heartbeat of a worker, sent by a thread with its own connection.

A handler that blocks the event loop or an exhausted pool must not make a live worker look dead. So the
heartbeat shares only the process with them. While the database cannot be reached it retries; `silent_s` is
the time since the last heartbeat that succeeded, by the monotonic clock.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence

import psycopg

from mnemic.db.access import Access
from mnemic.db.answering_connection import shut_down
from mnemic.db.tenancy import SigningKey
from mnemic.sql import query

BEAT_EVERY_S = 3.0
RETRY_S = 0.5
JOIN_TIMEOUT_S = 2.0
ANSWER_TIMEOUT_S = 10.0
"""How long one heartbeat may take before its connection is closed: less than `FENCE_AFTER_S`."""

QUEUE = "queue"
"""The subject of the purpose `working`; there is one queue."""

logger = logging.getLogger("mnemic.worker")


class Heartbeat:
    """Sends heartbeats from `start` to `stop`."""

    def __init__(self, access: Access, worker: str, types: Callable[[], Sequence[str]]) -> None:
        self._access = access
        self._worker = worker
        self._types = types
        self._stopped = threading.Event()
        # A daemon: a program that ends without stopping its worker must not wait for this thread.
        self._thread = threading.Thread(target=self._run, name="mnemic-heartbeat", daemon=True)
        self._renewed_at_s = time.monotonic()
        self.is_removed = False
        """Whether the worker is no longer registered; registering it again clears this."""

    @property
    def silent_s(self) -> float:
        """Seconds since the last successful heartbeat was sent."""
        return time.monotonic() - self._renewed_at_s

    def start(self) -> None:
        """Start the thread; the worker has just registered."""
        self._renewed_at_s = time.monotonic()
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, waiting at most `JOIN_TIMEOUT_S`."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(JOIN_TIMEOUT_S)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                with psycopg.connect(self._access.conninfo(), autocommit=True) as connection:
                    self._beat_until_stopped(connection)
            except psycopg.Error as error:
                logger.warning("heartbeat failed, retrying: %s", error)
                self._stopped.wait(RETRY_S)

    def _beat_until_stopped(self, connection: "psycopg.Connection[tuple[object, ...]]") -> None:
        while not self._stopped.is_set():
            sent_at_s = time.monotonic()
            # A thread that waits for a stalled network cannot be interrupted otherwise.
            watchdog = threading.Timer(ANSWER_TIMEOUT_S, shut_down, (connection,))
            watchdog.daemon = True
            watchdog.start()
            try:
                if not beat(connection, self._access.key, self._worker, self._types()):
                    self.is_removed = True
            finally:
                watchdog.cancel()
            self._renewed_at_s = sent_at_s
            self._stopped.wait(BEAT_EVERY_S)


def beat(
    connection: "psycopg.Connection[tuple[object, ...]]", key: SigningKey, worker: str, types: Sequence[str]
) -> bool:
    """Send one heartbeat, proved to come from a worker; returns whether the worker is registered."""
    cursor = connection.execute(query("session.begin"))
    cursor.nextset()
    (moment,) = cursor.fetchone() or ("",)
    proof = key.proof("working", QUEUE, moment=str(moment))
    connection.execute(query("session.prove"), {"purpose": "working", "subject": QUEUE, "proof": proof})
    row = connection.execute(
        query("workers.record_heartbeat"), {"worker": worker, "types": list(types)}
    ).fetchone()
    connection.commit()
    return row == (True,)
