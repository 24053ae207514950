"""How much memory this process and its server may use: the machine's, or the limit of the container."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

_MEMBERSHIP = Path("/proc/self/cgroup")
_HIERARCHIES = Path("/sys/fs/cgroup")


def memory_mb(membership: Path = _MEMBERSHIP, hierarchies: Path = _HIERARCHIES) -> int:
    """Memory of the machine in megabytes, or the lowest limit of this process's control groups."""
    machine_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([machine_bytes, *_limits_bytes(membership, hierarchies)]) >> 20


def _limits_bytes(membership: Path, hierarchies: Path) -> Iterator[int]:
    """Limits of the control groups of this process; none where the kernel has no control groups."""
    with suppress(OSError):
        for line in membership.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                yield from _limits_along(hierarchies, path, "memory.max")
            elif "memory" in controllers.split(","):
                yield from _limits_along(hierarchies / "memory", path, "memory.limit_in_bytes")


def _limits_along(root: Path, path: str, name: str) -> Iterator[int]:
    """Limits of a group and its parents; a container may see only its own group, as the root."""
    group = PurePosixPath(path).relative_to("/")
    for folder in (group, *group.parents):
        with suppress(OSError):
            limit = (root / folder / name).read_text().strip()
            if limit != "max":
                yield int(limit)
