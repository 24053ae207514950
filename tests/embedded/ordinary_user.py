"""Run a command as an ordinary user who can reach this Python and this repository. Needs root.

    python ordinary_user.py USER COMMAND…

Root's Python often lies below a folder of mode 0700, where no other user gets. Then the command
runs in a mount namespace of its own, in which such a folder is covered by an open one that holds
nothing but what is needed. The machine itself is not changed. Exit code 77 means: not possible here.
"""

import os
import pwd
import subprocess
import sys
import tempfile
from pathlib import Path

NOT_POSSIBLE = 77
REPOSITORY = Path(__file__).resolve().parents[2]


def main(user: str, *command: str) -> None:
    """Switch to the user and execute the command. An unknown user id is allowed."""
    closed = _closed_parents()
    if closed and "MNEMIC_OWN_MOUNTS" not in os.environ:
        if subprocess.call(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL) != 0:
            sys.exit(NOT_POSSIBLE)
        os.environ["MNEMIC_OWN_MOUNTS"] = "yes"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, __file__, user, *command])
    if closed:
        _cover(closed)
    uid, gid = (int(user), int(user)) if user.isdigit() else pwd.getpwnam(user)[2:4]
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY / "src")}
    os.execvpe(command[0], command, environment | {"PYTHONDONTWRITEBYTECODE": "1"})


def _needed() -> set[Path]:
    real_python = Path(sys.executable).resolve().parents[1]
    return {Path(sys.prefix), Path(sys.base_prefix), real_python, REPOSITORY}


def _closed_parents() -> list[Path]:
    """The outermost folders of the path that others cannot enter."""
    closed = {parent for path in _needed() for parent in path.parents if not parent.stat().st_mode & 0o001}
    return sorted(folder for folder in closed if not closed & set(folder.parents))


def _cover(closed: list[Path]) -> None:
    staging = Path(tempfile.mkdtemp())
    _mount("-t", "tmpfs", "tmpfs", str(staging))
    staged = {}
    for number, path in enumerate(sorted(_needed())):
        staged[path] = staging / str(number)
        staged[path].mkdir()
        _mount("--bind", str(path), str(staged[path]))
    for folder in closed:
        _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(folder))
    for path, copy in staged.items():
        if set(closed) & set(path.parents):
            path.mkdir(parents=True, exist_ok=True)
            _mount("--bind", str(copy), str(path))


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
