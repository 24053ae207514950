"""Memory use of a process while one call of `retain_many` consumes a generator.

    python -m bench.memory_use DATA_DIR COUNT

prints the peak of its resident memory during the call, as JSON. Each size is measured in its own process, so
that memory of an earlier call does not count.
"""

import json
import re
import resource
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench.precomputed_vectors import RandomVectors
from bench.sentences import stream
from mnemic import Memory

SEED = 4_000
WARM_UP_COUNT = 2_000
REPOSITORY = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class MemoryUse:
    """Peak of the resident memory during one call that retains `count` memories."""

    count: int
    peak_mb: float
    rate_per_s: float


def measure_memory_use(data_dir: Path, *, count: int, timeout_s: float) -> MemoryUse:
    """Retain `count` memories in a fresh process."""
    command = [sys.executable, "-m", "bench.memory_use", str(data_dir), str(count)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout_s, cwd=REPOSITORY, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"retaining {count:,} memories failed: {done.stderr.strip()[-1000:]}")
    return MemoryUse(**json.loads(done.stdout))


def main(data_dir: str, count: int) -> None:
    """The measured process."""
    engine = RandomVectors(seed=SEED + count)
    with Memory(data_dir=data_dir, owner=f"memory use {count}", embedder=engine) as memory:
        memory.retain_many(stream(WARM_UP_COUNT, seed=SEED))
        _reset_peak()
        began_s = time.perf_counter()
        retained = memory.retain_many(stream(count, seed=SEED + count))
        took_s = time.perf_counter() - began_s
        assert retained.stored_count == count, retained
        print(json.dumps({"count": count, "peak_mb": _peak_mb(), "rate_per_s": count / took_s}))


def _reset_peak() -> None:
    """Reset the kernel's peak counter. Where that is not supported, startup counts as well."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_mb() -> float:
    # Prefer /proc: on Linux the peak of getrusage is never less than that of the parent process.
    with suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if found is not None:
            return int(found[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
