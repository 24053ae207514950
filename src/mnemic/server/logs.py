"""The log of a server: one JSON object per line, on standard error.

Each key of `extra` is a field of its own. This code never logs keys, queries, bodies or memories. Messages of
other libraries are logged from the level warning on, and each of them at most `REPEATED_MAX` times a minute:
anybody can make uvicorn complain about a request.
"""

import json
import logging
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic

LOGGED = {
    "mnemic": logging.INFO,
    "uvicorn": logging.WARNING,
    "mcp": logging.WARNING,
    "asyncio": logging.WARNING,
}
OURS = "mnemic"
REPEATED_MAX = 10
MINUTE_S = 60.0
KNOWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """One line: time in UTC, level, logger, message, and the fields of `extra`."""
        fields = {name: value for name, value in vars(record).items() if name not in KNOWN}
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **fields,
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class RepetitionFilter(logging.Filter):
    """Passes each message of other libraries `REPEATED_MAX` times a minute; the last time it says so."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._counts: Counter[tuple[str, int]] = Counter()
        self._until_s = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is logged."""
        if record.name.partition(".")[0] == OURS:
            return True
        if self._clock() >= self._until_s:
            self._counts.clear()
            self._until_s = self._clock() + MINUTE_S
        # The place in the code, because asyncio writes addresses of objects into its messages.
        place = (record.pathname, record.lineno)
        self._counts[place] += 1
        if self._counts[place] == REPEATED_MAX:
            record.note = "this message is not repeated for up to a minute"
        return self._counts[place] <= REPEATED_MAX


def log_to_stderr() -> None:
    """Log to standard error as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(RepetitionFilter())
    for name, level in LOGGED.items():
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
