"""How long each stage of a recall took."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter


class Clock:
    """Milliseconds by stage; a stage that runs several times adds up."""

    def __init__(self) -> None:
        self._started_s = perf_counter()
        self._timings_ms: dict[str, float] = {}

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Count the time of a block."""
        started_s = perf_counter()
        try:
            yield
        finally:
            self.add(stage, (perf_counter() - started_s) * 1000)

    def add(self, stage: str, time_ms: float) -> None:
        """Count a time that was measured elsewhere."""
        self._timings_ms[stage] = self._timings_ms.get(stage, 0.0) + time_ms

    def timings(self) -> Mapping[str, float]:
        """All stages so far, and the total."""
        return {**self._timings_ms, "total": (perf_counter() - self._started_s) * 1000}
