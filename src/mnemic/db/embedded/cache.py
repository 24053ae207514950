"""How large the server's cache (`shared_buffers`) is: as its data need it, within what the machine has.

What is not in it is copied from the operating system's cache at every use, or comes from the disk: a search
by meaning among a million memories looks at thousands of pages of an index of a gigabyte. But a cache has a
price even while it is empty, for each gigabyte about 25 MB of memory and 20 ms of every start; so a small
store gets a small one. It is settled when the server starts, hence the room to grow.
"""

import os
from pathlib import Path

from mnemic.db.machine_memory import memory_mb

CACHE_MIN_MB = 128
CACHE_MAX_MB = 4096
CACHE_MEMORY_SHARE = 0.125
ROOM_TO_GROW = 2.0


def cache_mb(pgdata: Path) -> int:
    """The size for the cluster as it is now, in megabytes."""
    wanted = int(_data_mb(pgdata) * ROOM_TO_GROW)
    most = min(int(memory_mb() * CACHE_MEMORY_SHARE), CACHE_MAX_MB)
    return max(min(wanted, most), CACHE_MIN_MB)


def _data_mb(pgdata: Path) -> int:
    """What the databases of the cluster take on disk; nobody writes while a server is being started."""
    databases = os.scandir(pgdata / "base")
    return sum(file.stat().st_size for database in databases for file in os.scandir(database)) >> 20
