"""Reads `postmaster.pid`, and checks that its process really is the server of the cluster.

PostgreSQL writes the file. After a kill the file remains, and its pid may since belong to any other
process. So a process counts as the server of a cluster only if it is a postgres whose working directory is
the cluster's folder.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from mnemic.db.embedded.deadline import Deadline
from mnemic.errors import DataFolderError

PROC = Path("/proc")
PS_TIMEOUT_S = 10.0
EXIT_TIMEOUT_S = 1.0

_SOCKET_DIR_LINE = 4
_STATUS_LINE = 7


@dataclass(frozen=True)
class PostmasterFile:
    """Some lines of the file. Fields that the server has not written yet are empty."""

    pid: int
    socket_dir: str
    status: str

    @property
    def ready(self) -> bool:
        return self.status == "ready"


def read_postmaster_file(pgdata: Path) -> PostmasterFile | None:
    try:
        lines = os.fsdecode((pgdata / "postmaster.pid").read_bytes()).split("\n")
    except (FileNotFoundError, NotADirectoryError):
        return None
    lines += [""] * (_STATUS_LINE + 1 - len(lines))
    try:
        # A single-user server writes its pid with a minus sign.
        return PostmasterFile(abs(int(lines[0])), lines[_SOCKET_DIR_LINE], lines[_STATUS_LINE].strip())
    except ValueError:
        return None


def remove_stale_pid_file(pgdata: Path, deadline: Deadline) -> None:
    """Remove a `postmaster.pid` whose pid belongs to another program; DataFolderError for a foreign server.

    Call it when no server of Mnemic holds its lock. PostgreSQL itself handles a pid without a process.
    """
    file = read_postmaster_file(pgdata)
    # A killed process loses its locks a moment before it loses its working directory.
    grace = Deadline(EXIT_TIMEOUT_S)
    while file is not None and is_server_of(file.pid, pgdata):
        if not grace.remaining_s:
            raise DataFolderError(
                f"a PostgreSQL server that Mnemic did not start (pid {file.pid}) is running on {pgdata}: "
                f"stop it with `kill -INT {file.pid}`, or use it by URL"
            )
        deadline.pause(f"the process {file.pid} to leave {pgdata}")
    if file is not None and _is_alive(file.pid):
        (pgdata / "postmaster.pid").unlink()


def is_server_of(pid: int, pgdata: Path) -> bool:
    """Whether this process is a postgres whose working directory is this folder."""
    return _is_server_by_proc(pid, pgdata) if (PROC / "self").exists() else _is_server_by_ps(pid, pgdata)


def _is_server_by_ps(pid: int, pgdata: Path) -> bool:
    command = ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PS_TIMEOUT_S, check=False)
    return "postgres" in done.stdout and str(pgdata) in done.stdout


def _is_server_by_proc(pid: int, pgdata: Path) -> bool:
    try:
        name = (PROC / str(pid) / "comm").read_text().strip()
        return name.startswith("postgres") and (PROC / str(pid) / "cwd").samefile(pgdata)
    except (FileNotFoundError, ProcessLookupError):
        return False
    except PermissionError:
        return False  # Another user's process; PostgreSQL only runs in folders of its own user.


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
