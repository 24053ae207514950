"""CPU time of this process and of a PostgreSQL server's processes, in milliseconds."""

import time
from pathlib import Path

PROC = Path("/proc")
NANOSECONDS_PER_MS = 1_000_000
# After the name of the program, which may contain anything: state, then the parent's process id.
_PARENT = 1


def python_cpu_ms() -> float:
    """CPU time of all threads of this process since it started."""
    return time.process_time_ns() / NANOSECONDS_PER_MS


def process_cpu_ms(pid: int) -> float:
    """CPU time of all living threads of another process."""
    threads = (PROC / str(pid) / "task").glob("[0-9]*")
    return sum(_cpu_ms(f"{pid}/task/{thread.name}") or 0.0 for thread in threads)


def postgres_cpu_ms(postmaster_pid: int) -> dict[int, float]:
    """CPU time of each process of a server since that process started; empty where /proc is missing."""
    children = (pid for pid in _process_ids() if _parent_of(pid) == postmaster_pid)
    times = {pid: _cpu_ms(pid) for pid in (postmaster_pid, *children)}
    return {pid: spent_ms for pid, spent_ms in times.items() if spent_ms is not None}


def spent_between(before: dict[int, float], after: dict[int, float]) -> float:
    """CPU time between two readings. Processes that ended in between are left out."""
    return sum(spent_ms - before.get(pid, 0.0) for pid, spent_ms in after.items())


def find_postmaster(data_dir: Path) -> int | None:
    """The process id of the embedded server that runs on a data folder."""
    for found in data_dir.rglob("postmaster.pid"):
        return int(found.read_text("utf-8").split()[0])
    return None


def _process_ids() -> list[int]:
    return [int(entry.name) for entry in PROC.glob("[0-9]*")]


def _parent_of(pid: int) -> int | None:
    try:
        return int((PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[_PARENT])
    except OSError:  # The process has ended.
        return None


def _cpu_ms(pid: int | str) -> float | None:
    """From the scheduler's statistics, which count nanoseconds; the usual counters count 10 ms."""
    try:
        return int((PROC / str(pid) / "schedstat").read_text().split()[0]) / NANOSECONDS_PER_MS
    except OSError:
        return None
