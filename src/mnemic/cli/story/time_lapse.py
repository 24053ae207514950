"""A story that is stored in seconds, as if it had been recorded over its year.

Only an import can store when something was recorded. So the story is stored in a tenant of its own, from its
first day to its last, and exported; the times of recording in the export are moved to the days of the story
before it is imported. Everything else in the file stays as it was recorded: order, durations, ids.

The calls that stored it are counted in the hours of the story, with the durations that were measured.
"""

import json
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any

from mnemic.runtime.call_metrics import MeasuredCall, Operation
from mnemic.runtime.hourly_metrics import HourCounts, HourKey


class TimeLapse:
    """When each part of a story was recorded, and when it is to have been recorded."""

    def __init__(self) -> None:
        self._began: list[datetime] = []
        self._shifts: list[timedelta] = []
        self.calls: dict[HourKey, HourCounts] = {}

    def mark(self, day: datetime) -> None:
        """What is recorded from now on was recorded on `day`, which is no earlier than those before."""
        began = datetime.now(UTC)
        shift = day - began
        # So that times keep their order: what came later stays later.
        self._shifts.append(max(shift, self._shifts[-1]) if self._shifts else shift)
        self._began.append(began)

    def moved(self, at: datetime) -> datetime:
        """A time of recording, moved to the story; other times, such as when something happened, stay."""
        place = bisect_right(self._began, at) - 1
        return at if place < 0 else at + self._shifts[place]

    @contextmanager
    def counted(self, operation: Operation) -> Iterator[MeasuredCall]:
        """Measure a call and count it in its hour of the story; the caller notes its result."""
        call, began_s = MeasuredCall(), perf_counter()
        yield call
        call.duration_ms = (perf_counter() - began_s) * 1000
        hour = self.moved(datetime.now(UTC)).replace(minute=0, second=0, microsecond=0)
        self.calls.setdefault((hour, operation), HourCounts()).add_call(call)

    def rewrite(self, source: Path, target: Path) -> None:
        """Copy an export with its times of recording moved."""
        with source.open(encoding="utf-8") as lines, target.open("w", encoding="utf-8") as written:
            for line in lines:
                value = json.loads(line)
                if "row" in value:
                    value["row"] = {name: self._moved_field(field) for name, field in value["row"].items()}
                written.write(json.dumps(value, ensure_ascii=False) + "\n")

    def _moved_field(self, field: Any) -> Any:
        """A field of a row: a time with a zone is moved, everything else stays."""
        if not isinstance(field, str):
            return field
        try:
            at = datetime.fromisoformat(field)
        except ValueError:
            return field
        return field if at.tzinfo is None else self.moved(at).isoformat()
