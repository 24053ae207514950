"""The signs of life of a worker, from a thread with a connection of its own.

Neither a handler that blocks the event loop nor a pool without a free connection may make a living worker
look dead. So the heartbeat shares nothing with them but the process. While the database cannot be reached
it tries again and again; `silent_s` tells for how long it has not got through, by a clock that nobody sets.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence

import psycopg

from mnemic.db.access import Access
from mnemic.db.tenancy import SigningKey
from mnemic.sql import query

BEAT_EVERY_S = 3.0
RETRY_S = 0.5
JOIN_TIMEOUT_S = 2.0

WORKING = "queue"
"""The subject of the purpose `working`; there is one queue."""

logger = logging.getLogger("mnemic.worker")


class Heartbeat:
    """Beats from `start` to `stop`."""

    def __init__(self, access: Access, worker: str, types: Callable[[], Sequence[str]]) -> None:
        self._access = access
        self._worker = worker
        self._types = types
        self._stopped = threading.Event()
        # A daemon: a program that ends without stopping its worker must not wait for it.
        self._thread = threading.Thread(target=self._run, name="mnemic-heartbeat", daemon=True)
        self._renewed_at_s = time.monotonic()
        self.is_struck = False
        """Whether the worker is not on the list any more; whoever puts it back clears this."""

    @property
    def silent_s(self) -> float:
        """How long ago the last sign of life was sent that got through."""
        return time.monotonic() - self._renewed_at_s

    def start(self) -> None:
        """Begin; the worker has announced itself just now."""
        self._renewed_at_s = time.monotonic()
        self._thread.start()

    def stop(self) -> None:
        """End, within a moment."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(JOIN_TIMEOUT_S)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                with psycopg.connect(self._access.conninfo(), autocommit=True) as connection:
                    self._beat_until_stopped(connection)
            except psycopg.Error as error:
                logger.warning("a heartbeat did not get through, trying again: %s", error)
                self._stopped.wait(RETRY_S)

    def _beat_until_stopped(self, connection: "psycopg.Connection[tuple[object, ...]]") -> None:
        while not self._stopped.is_set():
            sent_at_s = time.monotonic()
            if not beat(connection, self._access.key, self._worker, self._types()):
                self.is_struck = True
            self._renewed_at_s = sent_at_s
            self._stopped.wait(BEAT_EVERY_S)


def beat(
    connection: "psycopg.Connection[tuple[object, ...]]", key: SigningKey, worker: str, types: Sequence[str]
) -> bool:
    """One sign of life, proved to come from a worker; whether the worker is on the list."""
    cursor = connection.execute(query("session.begin"))
    cursor.nextset()
    (moment,) = cursor.fetchone() or ("",)
    proof = key.proof("working", WORKING, moment=str(moment))
    connection.execute(query("session.prove"), {"purpose": "working", "subject": WORKING, "proof": proof})
    told = connection.execute(
        query("workers.record_heartbeat"), {"worker": worker, "types": list(types)}
    ).fetchone()
    connection.commit()
    return told == (True,)
