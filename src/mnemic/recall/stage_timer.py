"""How long each stage of a recall took."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter


class StageTimer:
    """Milliseconds by stage. A stage that runs several times adds up."""

    def __init__(self) -> None:
        self._started_s = perf_counter()
        self._timings_ms: dict[str, float] = {}

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Add the duration of a block."""
        started_s = perf_counter()
        try:
            yield
        finally:
            self.add(stage, (perf_counter() - started_s) * 1000)

    def add(self, stage: str, time_ms: float) -> None:
        """Add a duration that was measured elsewhere, for example by the database."""
        self._timings_ms[stage] = self._timings_ms.get(stage, 0.0) + time_ms

    @property
    def elapsed_ms(self) -> float:
        """Time since the timer was made."""
        return (perf_counter() - self._started_s) * 1000

    def timings(self) -> Mapping[str, float]:
        """All stages so far, and the total."""
        return {**self._timings_ms, "total": self.elapsed_ms}
