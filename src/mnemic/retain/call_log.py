"""The memory log row of one `retain` call."""

import time
from dataclasses import dataclass, field
from typing import Any

from mnemic.db.database import Transaction
from mnemic.govern.memory_log import log_write, row_of_write
from mnemic.types.retained import Retained
from mnemic.types.scope import Scope
from mnemic.types.traces import LogEntry, LogLevel


@dataclass(frozen=True)
class CallLog:
    """What the log says about a call before its result is known; the clock starts when it is made."""

    level: LogLevel
    scope: Scope
    conversation: str | None
    started_s: float = field(default_factory=time.perf_counter)

    def row(self, retained: Retained) -> dict[str, Any] | None:
        """The columns of the row, for a statement that inserts it; None if the log is off."""
        return row_of_write(self.level, self._entry(retained))

    async def write(self, transaction: Transaction, retained: Retained) -> None:
        """Insert the row, unless the log is off."""
        await log_write(transaction, self.level, self._entry(retained))

    def _entry(self, retained: Retained) -> LogEntry:
        return LogEntry(
            operation="retain",
            owner=self.scope.require_owner(),
            channel=self.scope.channel,
            process=self.scope.process,
            conversation=self.conversation,
            memory_count=retained.stored_count,
            duration_ms=(time.perf_counter() - self.started_s) * 1000,
            detail={"duplicates": retained.duplicate_count, "refused": retained.refused_count},
        )
