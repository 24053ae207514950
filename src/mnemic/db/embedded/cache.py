"""Size of the server's cache (`shared_buffers`): proportional to the data, within the machine's memory.

Pages that are not in it are copied from the operating system's cache at every use, or read from the disk: a
vector search among a million memories reads thousands of pages of an index of a gigabyte. But even an empty
cache costs, per gigabyte, about 25 MB of memory and 20 ms of every start; so a small database gets a small
one. The size is fixed when the server starts, hence the growth factor.
"""

import os
from pathlib import Path

from mnemic.db.machine_memory import memory_mb

CACHE_MIN_MB = 128
CACHE_MAX_MB = 4096
CACHE_MEMORY_SHARE = 0.125
GROWTH_FACTOR = 2.0


def cache_mb(pgdata: Path) -> int:
    """The size for the cluster as it is now, in megabytes."""
    wanted = int(_data_mb(pgdata) * GROWTH_FACTOR)
    most = min(int(memory_mb() * CACHE_MEMORY_SHARE), CACHE_MAX_MB)
    return max(min(wanted, most), CACHE_MIN_MB)


def _data_mb(pgdata: Path) -> int:
    """Size of the cluster's databases on disk. Files do not change: the server has not started yet.

    A database is a folder; a stray file beside them is none of the server's.
    """
    databases = (entry for entry in os.scandir(pgdata / "base") if entry.is_dir())
    return sum(file.stat().st_size for database in databases for file in os.scandir(database)) >> 20
