"""Waiting with a time limit and log messages.

One call uses one `Deadline` for all conditions that it waits for in turn. The time limit is that of the
whole call, and every few seconds a message says what it is waiting for.
"""

import logging
import time

from mnemic.errors import EmbeddedServerError

LOGGER = logging.getLogger("mnemic.embedded")

MESSAGE_INTERVAL_S = 3.0
SHORTEST_PAUSE_S = 0.002
LONGEST_PAUSE_S = 0.02


class Deadline:
    """Pauses between checks of a condition, until the time limit of the whole call is reached."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._ends_at_s = time.monotonic() + timeout_s
        self._pause_s = SHORTEST_PAUSE_S
        self._begin("")

    @property
    def remaining_s(self) -> float:
        return max(0.0, self._ends_at_s - time.monotonic())

    def pause(self, waiting_for: str) -> None:
        """Sleep briefly, longer each time; raise `EmbeddedServerError` when the limit is reached."""
        if waiting_for != self._waiting_for:
            self._begin(waiting_for)
        if not self.remaining_s:
            raise EmbeddedServerError(f"gave up after {self.timeout_s:g} s of waiting for {waiting_for}")
        self._log_progress()
        time.sleep(min(self._pause_s, self.remaining_s))
        self._pause_s = min(self._pause_s * 1.5, LONGEST_PAUSE_S)

    def _begin(self, waiting_for: str) -> None:
        self._waiting_for = waiting_for
        self._pause_s = SHORTEST_PAUSE_S
        self._began_at_s = time.monotonic()
        self._log_at_s = self._began_at_s + MESSAGE_INTERVAL_S

    def _log_progress(self) -> None:
        now_s = time.monotonic()
        if now_s < self._log_at_s:
            return
        LOGGER.warning("waiting for %s, %.0f s so far", self._waiting_for, now_s - self._began_at_s)
        self._log_at_s = now_s + MESSAGE_INTERVAL_S
