"""How much memory this process and its server may use: what the machine has, or what a container is given."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

_MEMBERSHIP = Path("/proc/self/cgroup")
_HIERARCHIES = Path("/sys/fs/cgroup")


def memory_mb(membership: Path = _MEMBERSHIP, hierarchies: Path = _HIERARCHIES) -> int:
    """The memory of the machine in megabytes, or the least that a control group of this process allows."""
    machine_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([machine_bytes, *_limits_bytes(membership, hierarchies)]) >> 20


def _limits_bytes(membership: Path, hierarchies: Path) -> Iterator[int]:
    """The limits of the groups that this process is in; none where the kernel keeps no such groups."""
    with suppress(OSError):
        for line in membership.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                yield from _limits_along(hierarchies, path, "memory.max")
            elif "memory" in controllers.split(","):
                yield from _limits_along(hierarchies / "memory", path, "memory.limit_in_bytes")


def _limits_along(root: Path, path: str, name: str) -> Iterator[int]:
    """The limits of a group and of those it is part of; a container may see only its own, as the root."""
    group = PurePosixPath(path).relative_to("/")
    for folder in (group, *group.parents):
        with suppress(OSError):
            limit = (root / folder / name).read_text().strip()
            if limit != "max":
                yield int(limit)
