"""Locks that the kernel keeps and that end with the process that holds them, however it ends.

All of them are flock(2) on files of the data folder. A lock belongs to the open file, not to the
process, which gives three rules:

- it is given back by closing the file, never by unlocking, so that a forked child that closes its
  copy cannot take the lock away from its parent;
- a forked child must not keep it alive either, so every lock open here is closed in the child
  right after the fork;
- it can be handed to another program by letting it inherit the open file.
"""

import fcntl
import os
import weakref
from pathlib import Path
from types import TracebackType
from typing import Self

from mnemic.db.embedded.patience import Patience

CLOSED = -1


class FileLock:
    """One flock, held from the moment the object exists until `release`."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        _open_locks.add(self)

    @classmethod
    def try_acquire(cls, path: Path, *, exclusive: bool) -> Self | None:
        """Take the lock if that is possible at once. The file must exist."""
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        if _try_flock(fd, exclusive=exclusive):
            return cls(fd)
        os.close(fd)
        return None

    @classmethod
    def acquire(cls, path: Path, patience: Patience, *, exclusive: bool, waiting_for: str) -> Self:
        while (lock := cls.try_acquire(path, exclusive=exclusive)) is None:
            patience.pause(waiting_for)
        return lock

    @property
    def held(self) -> bool:
        return self._fd != CLOSED

    def fileno(self) -> int:
        return self._fd

    def release(self) -> None:
        """Close the file; doing it twice is harmless."""
        fd, self._fd = self._fd, CLOSED
        if fd != CLOSED:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def __del__(self) -> None:
        self.release()


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock exclusively.

    Looks by sharing the lock for an instant: lookers do not disturb each other, and whoever wants
    the lock for himself must try more than once.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        return not _try_flock(fd, exclusive=False)
    finally:
        os.close(fd)


def _try_flock(fd: int, *, exclusive: bool) -> bool:
    try:
        fcntl.flock(fd, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


# The one piece of module state: a fork copies every open file, so the child must find them all.
_open_locks: weakref.WeakSet[FileLock] = weakref.WeakSet()


def _release_all_in_child() -> None:
    for lock in list(_open_locks):
        lock.release()


os.register_at_fork(after_in_child=_release_all_in_child)
