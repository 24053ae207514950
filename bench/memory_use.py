"""How much memory a process takes while one call of `retain_many` eats a generator.

    python -m bench.memory_use DATA_DIR COUNT

prints the peak of its resident memory during the call, as JSON. Each size is measured in a process of its
own: what one call leaves behind must not count for the next.
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

from bench.ready_vectors import MadeUpVectors
from bench.sentences import stream
from mnemic import Memory

SEED = 4_000
WARM_UP_COUNT = 2_000
REPOSITORY = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class MemoryUse:
    """Peak of the resident memory while so many memories were retained in one call."""

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
    """Be that process."""
    engine = MadeUpVectors(seed=SEED + count)
    with Memory(data_dir=data_dir, owner=f"memory use {count}", embedder=engine) as memory:
        memory.retain_many(stream(WARM_UP_COUNT, seed=SEED))
        _forget_peak()
        began_s = time.perf_counter()
        retained = memory.retain_many(stream(count, seed=SEED + count))
        took_s = time.perf_counter() - began_s
        assert retained.stored_count == count, retained
        print(json.dumps({"count": count, "peak_mb": _peak_mb(), "rate_per_s": count / took_s}))


def _forget_peak() -> None:
    """Let the kernel count the peak from here on. Where it cannot, starting up counts as well."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_mb() -> float:
    # Not getrusage where it can be helped: on Linux its peak is never less than that of the parent process.
    with suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if found is not None:
            return int(found[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
