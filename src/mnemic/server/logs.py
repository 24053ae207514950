"""The log of a server: one JSON object per line, on standard error.

Each key of `extra` is a field of its own. This code never logs keys, queries, bodies or memories. Messages of
other libraries are logged from the level warning on.
"""

import json
import logging
import sys
from datetime import UTC, datetime

LOGGED = {"mnemic": logging.INFO, "uvicorn": logging.WARNING, "mcp": logging.WARNING}
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


def log_to_stderr() -> None:
    """Log to standard error as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name, level in LOGGED.items():
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
