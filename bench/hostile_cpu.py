"""The CPU time that each part of a server takes, and a program that takes as much as the hostile clients.

The program (`burning`) is the control: what it does to the honest callers is competition for the machine's
cores and no defect of the server.
"""

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import ceil
from pathlib import Path

PROC = Path("/proc")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
BURN_EVERY_S = 0.02
_PARENT, _OWN, _REAPED = 1, slice(11, 13), slice(13, 15)
"""Fields of /proc/…/stat behind the name of the program: parent, own and reaped CPU times."""


def cpu_s_by_part(server_pid: int, postmaster_pid: int) -> Counter[str]:
    """CPU seconds so far of the server, of the processes that it starts, of PostgreSQL and of the callers."""
    stats = _stats()
    own_s = sum(map(int, stats[server_pid][_OWN])) / TICKS_PER_S
    callers = os.times()
    return Counter(
        {
            "server": own_s,
            "its processes": _tree_s(stats, server_pid) - own_s,
            "PostgreSQL": _tree_s(stats, postmaster_pid),
            "honest callers": callers.user + callers.system,
        }
    )


@asynccontextmanager
async def burning(share: float) -> AsyncIterator[None]:
    """Take as many cores as `share` says during the block, with the priority of the hostile clients."""
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bench.hostile_cpu", f"{min(1.0, share - taken):.4f}"
        )
        for taken in range(ceil(share))
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            await process.wait()


def give_way() -> None:
    """Let every other program go first: hostile clients would run on machines of their own."""
    if sys.platform == "linux":
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.nice(19)


def burn(share: float) -> None:
    """Take a share of one core until killed."""
    give_way()
    while True:
        until_s = time.thread_time() + share * BURN_EVERY_S
        while time.thread_time() < until_s:
            pass
        time.sleep((1 - share) * BURN_EVERY_S)


def _stats() -> dict[int, list[str]]:
    stats = {}
    for entry in PROC.glob("[0-9]*"):
        try:
            stats[int(entry.name)] = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # It has ended.
    return stats


def _tree_s(stats: dict[int, list[str]], pid: int) -> float:
    """CPU seconds of a process, its descendants and those that they have waited for."""
    spent_s = sum(map(int, stats[pid][_OWN] + stats[pid][_REAPED])) / TICKS_PER_S
    children = [child for child, fields in stats.items() if int(fields[_PARENT]) == pid]
    return spent_s + sum(_tree_s(stats, child) for child in children)


if __name__ == "__main__":
    burn(float(sys.argv[1]))
