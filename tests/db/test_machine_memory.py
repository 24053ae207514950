import os
from pathlib import Path

import pytest

from mnemic.db.machine_memory import memory_mb

MACHINE_MB = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20


def limited(root: Path, membership: str, **limits: str) -> int:
    """`memory_mb` with this /proc/self/cgroup and these files, whose names have __ for /."""
    (root / "cgroup").write_text(membership)
    for name, limit in limits.items():
        file = root / "sys" / name.replace("__", "/").replace("memory_", "memory.")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(limit + "\n")
    return memory_mb(root / "cgroup", root / "sys")


def test_without_control_groups_the_machines_memory_counts(tmp_path: Path) -> None:
    assert memory_mb(tmp_path / "missing", tmp_path) == MACHINE_MB


@pytest.mark.parametrize("limit", ["max", str(1 << 62)])
def test_a_group_without_limit_has_the_machines_memory(tmp_path: Path, limit: str) -> None:
    assert limited(tmp_path, "0::/\n", memory_max=limit) == MACHINE_MB


def test_the_limit_of_a_container_counts(tmp_path: Path) -> None:
    assert limited(tmp_path, "0::/\n", memory_max=str(64 << 20)) == 64


def test_the_lowest_limit_of_a_group_and_its_parents_counts(tmp_path: Path) -> None:
    limits = {"outer__memory_max": str(32 << 20), "outer__inner__memory_max": str(48 << 20)}
    assert limited(tmp_path, "0::/outer/inner\n", **limits) == 32


def test_a_container_reads_its_own_group_as_the_root(tmp_path: Path) -> None:
    membership = "5:cpu,memory:/docker/0123\n1:cpu:/\n0::/\n"
    assert limited(tmp_path, membership, memory__memory_limit_in_bytes=str(96 << 20)) == 96
