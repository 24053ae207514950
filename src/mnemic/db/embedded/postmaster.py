"""What `postmaster.pid` says, and whether the process that it names is what it says.

PostgreSQL writes the file; after a kill it stays behind, and its pid may by then belong to any
other process. So the pid alone proves nothing: a process counts as the server of a cluster only if
it is a postgres that works in that cluster's folder.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from mnemic.db.embedded.patience import Patience
from mnemic.errors import DataFolderError

PROC = Path("/proc")
PS_TIMEOUT_S = 10.0
DYING_LIMIT_S = 1.0

_SOCKET_DIR_LINE = 4
_STATUS_LINE = 7


@dataclass(frozen=True)
class PostmasterFile:
    """The lines that matter here. Fields that the server has not written yet are empty."""

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


def forget_recycled_pid(pgdata: Path, patience: Patience) -> None:
    """Remove a `postmaster.pid` whose pid now belongs to something else; refuse a foreign server.

    To be called when no server of ours holds its lock. A pid that is free is PostgreSQL's to judge.
    """
    file = read_postmaster_file(pgdata)
    # A killed process of ours loses its locks a moment before it loses its working directory.
    grace = Patience(DYING_LIMIT_S)
    while file is not None and serves(file.pid, pgdata):
        if not grace.left_s:
            raise DataFolderError(
                f"a PostgreSQL server that Mnemic did not start (pid {file.pid}) is running on {pgdata}: "
                f"stop it with `kill -INT {file.pid}`, or use it by URL"
            )
        patience.pause(f"the process {file.pid} to leave {pgdata}")
    if file is not None and _is_alive(file.pid):
        (pgdata / "postmaster.pid").unlink()


def serves(pid: int, pgdata: Path) -> bool:
    """Whether this process is a postgres that works in this folder."""
    return _serves_by_proc(pid, pgdata) if (PROC / "self").exists() else _serves_by_ps(pid, pgdata)


def _serves_by_ps(pid: int, pgdata: Path) -> bool:
    command = ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=PS_TIMEOUT_S, check=False)
    return "postgres" in answer.stdout and str(pgdata) in answer.stdout


def _serves_by_proc(pid: int, pgdata: Path) -> bool:
    try:
        name = (PROC / str(pid) / "comm").read_text().strip()
        return name.startswith("postgres") and (PROC / str(pid) / "cwd").samefile(pgdata)
    except (FileNotFoundError, ProcessLookupError):
        return False
    except PermissionError:
        return False  # Another user's process, and PostgreSQL only works in folders of its own user.


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
