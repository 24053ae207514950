"""Processes in tests: start users, wait for conditions, find running processes."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from mnemic.db.embedded import status
from mnemic.db.embedded.locks import is_locked

WAIT_LIMIT_S = 120.0
LOOK_INTERVAL_S = 0.01
HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "src"

T = TypeVar("T")


def wait_for(look: Callable[[], T | None], what: str, *, limit_s: float = WAIT_LIMIT_S) -> T:
    """Poll until the result is true; fails the test after the time limit."""
    ends_at_s = time.monotonic() + limit_s
    while not (seen := look()):
        assert time.monotonic() < ends_at_s, f"waited {limit_s} s for {what}"
        time.sleep(LOOK_INTERVAL_S)
    return seen


class UserProcess:
    """A running `user_process.py`; its output goes to a file."""

    def __init__(self, data_dir: Path, writer: str, log_dir: Path, *options: str) -> None:
        self.writer = writer
        self._said = log_dir / f"{writer}.out"
        self._errors = log_dir / f"{writer}.err"
        with open(self._said, "wb") as said, open(self._errors, "wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, str(HERE / "user_process.py"), str(data_dir), writer, *options],
                env=os.environ | {"PYTHONPATH": str(SOURCES)},
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=errors,
            )

    def lines(self) -> list[str]:
        """Complete lines of the output: a kill may cut the last one."""
        return self._said.read_text().split("\n")[:-1]

    def committed(self) -> set[int]:
        return {int(line) for line in self.lines() if line.isdigit()}

    def wait_until_ready(self) -> None:
        wait_for(lambda: self._ready_or_dead(), f"{self.writer} to be ready")

    def wait_until_committed(self, count: int) -> None:
        wait_for(lambda: len(self.committed()) >= count, f"{self.writer} to commit {count} rows")

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def leave(self) -> None:
        """Let a waiting user close its share and exit."""
        self.process.communicate(timeout=WAIT_LIMIT_S)
        assert self.process.returncode == 0, self._errors.read_text()

    def _ready_or_dead(self) -> bool:
        assert self.process.poll() is None, self._errors.read_text()
        return "ready" in self.lines()


def living(data_dir: Path) -> list[int]:
    """Every process that has a lock of this server open: keeper, postmaster and backends."""
    locks = {str(data_dir / "server.lock"), str(data_dir / "keeper.lock")}
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if locks & _open_files(entry)]


def descendants(pid: int) -> list[int]:
    """Every process that this one has started, directly or not; much faster than looking at all processes."""
    children: list[int] = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # The thread or process has ended.
            children += map(int, listed.read_text().split())
    return [*children, *(below for child in children for below in descendants(child))]


def nothing_runs(data_dir: Path) -> bool:
    """Whether processes of the server run, by its lock and, where there is /proc, by all processes."""
    held = is_locked(data_dir / "keeper.lock") or is_locked(data_dir / "server.lock")
    return not held and not living(data_dir)


def wait_until_nothing_runs(data_dir: Path) -> None:
    wait_for(lambda: nothing_runs(data_dir), f"every process of {data_dir} to end")


def postmaster_of(data_dir: Path) -> int:
    pid = status(data_dir).pid
    assert pid is not None
    return pid


def keeper_of(data_dir: Path) -> int:
    """The pid of the keeper, whose command line names its program and this folder."""
    wanted = {b"keeper.py", os.fsencode(data_dir)}
    for pid in living(data_dir):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue  # A backend that has just ended.
        if wanted <= {os.path.basename(word) for word in words} | set(words):
            return pid
    raise AssertionError(f"no keeper of {data_dir} lives")


def keeper_waits(data_dir: Path) -> bool:
    """Whether the keeper waits for the exclusive users' lock."""
    waiting = [line.split() for line in Path("/proc/locks").read_text().splitlines() if "->" in line]
    return str(keeper_of(data_dir)) in {word for words in waiting for word in words}


def kill(pid: int) -> None:
    """Kill a process and wait until it has ended."""
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not _runs(pid), f"the killed process {pid} to end")


def end_everything(data_dir: Path) -> None:
    """Kill all processes of a server, for clean-up after a failed test."""
    while pids := living(data_dir):
        with contextlib.suppress(ProcessLookupError):
            kill(pids[0])


def _runs(pid: int) -> bool:
    """Whether a thread of the process runs; a zombie does not. The first thread may end before the others."""
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # The thread has ended.
            if stat.read_text().rpartition(")")[2].split()[0] not in "ZX":
                return True
    return False


def _open_files(process: Path) -> set[str]:
    try:
        return {os.readlink(link) for link in (process / "fd").iterdir()}
    except OSError:
        return set()  # It has ended, or belongs to another user.
