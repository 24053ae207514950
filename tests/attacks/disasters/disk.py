"""A small disk of its own for a data folder, which a test can fill or make read-only.

It is an ext4 file system in a file, on a loop device. The file is in memory where the system has a folder
for that: how fast a server recovers must not depend on what else the machine's disk has to do. Filling needs
no privileges once it is mounted.
A file system that has files open for writing cannot be remounted read-only in the ordinary way; `abort`
does what the kernel does after an error of the disk. Afterwards it must be unmounted and repaired.
"""

import errno
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

SIZE_BYTES = 3 * 1024**3
"""Room for all that the clients write, and for as much write-ahead log as PostgreSQL keeps."""
MEMORY_FOLDER = Path("/dev/shm")
KEPT_FREE_BYTES = 16 * 1024**2
"""Room that is filled by writing, because reserving stops before the last block."""


class SmallDisk:
    """Mounted from entering to leaving. `folder` can be entered by all users."""

    def __init__(self, image: Path, folder: Path) -> None:
        self.folder = folder
        self._image = image
        self._filler = folder / "filler"

    def __enter__(self) -> Self:
        self.folder.mkdir()
        self._image.touch()
        os.truncate(self._image, SIZE_BYTES)
        # Without blocks reserved for root, who fills it: the server is another user.
        _run("mkfs.ext4", "-q", "-m", "0", str(self._image))
        self.mount()
        self.folder.chmod(0o711)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unmount()
        self._image.unlink()

    def mount(self) -> None:
        _run("mount", "-o", "loop,errors=remount-ro", str(self._image), str(self.folder))

    def unmount(self) -> None:
        _run("umount", str(self.folder))

    def fill(self) -> None:
        """Write until nothing fits any more, to the last byte."""
        with open(self._filler, "ab", buffering=0) as filler:
            # Reserved, not written: that takes neither time nor memory.
            space = os.statvfs(self.folder)
            os.posix_fallocate(filler.fileno(), 0, max(1, space.f_bavail * space.f_frsize - KEPT_FREE_BYTES))
            for block in (b"\0" * 1024**2, b"\0" * 4096, b"\0"):
                try:
                    while filler.write(block):
                        pass
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def free(self) -> None:
        """Remove what fills it, for good: `abort` soon afterwards would undo what is not on the disk yet."""
        self._filler.unlink()
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def abort(self) -> None:
        """Make it read-only, as after an error of the disk."""
        _run("mount", "-o", "remount,abort", str(self.folder))

    def repair(self) -> None:
        """Mount it again, checked; nothing may have files open on it."""
        self.unmount()
        # 1 means that errors were corrected.
        checked = subprocess.run(["e2fsck", "-p", str(self._image)], capture_output=True, text=True)
        assert checked.returncode in (0, 1), checked.stdout + checked.stderr
        self.mount()


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"


def image_folder() -> str | None:
    """Where to make the file of the disk; None means the system's folder for temporary files."""
    return str(MEMORY_FOLDER) if os.access(MEMORY_FOLDER, os.W_OK) else None


def may_mount() -> bool:
    """Whether this process may mount a file in a folder."""
    return os.geteuid() == 0 and Path("/dev/loop-control").exists()
