"""Become another user, and try what a process of that user could do to a server of the embedded PostgreSQL.

    python other_user.py UID SERVER_PID DATA_DIR SOCKET_DIR

Needs root to begin with. Prints the outcome of each attempt as JSON: `succeeded` or `refused`.
"""

import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path


def attempts(pid: int, data_dir: Path, socket_dir: Path) -> dict[str, Callable[[], object]]:
    """What is tried, by name."""
    process = Path(f"/proc/{pid}")
    return {
        "list the data folder": lambda: os.listdir(data_dir / "pgdata"),
        "list the cluster through the server's working directory": lambda: os.listdir(process / "cwd"),
        "read a file of the cluster": lambda: (process / "cwd" / "PG_VERSION").read_text(),
        "write into the cluster": lambda: (process / "cwd" / "planted").write_text(""),
        "list the server's open files": lambda: os.listdir(process / "fd"),
        "read the server's memory": lambda: (process / "mem").open("rb").close(),
        "read the server's environment": lambda: (process / "environ").read_bytes(),
        "signal the server": lambda: os.kill(pid, 0),
        "list the socket folder": lambda: os.listdir(socket_dir),
        "connect to the socket": lambda: connect(socket_dir / ".s.PGSQL.5432"),
    }


def connect(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))


def outcome(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except PermissionError:
        return "refused"
    return "succeeded"


def main(uid: str, pid: str, data_dir: str, socket_dir: str) -> None:
    tried = attempts(int(pid), Path(data_dir), Path(socket_dir))
    os.setgroups([])
    os.setgid(int(uid))
    os.setuid(int(uid))
    print(json.dumps({name: outcome(attempt) for name, attempt in tried.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
