"""File locks, which the kernel releases when the process that holds them ends.

All of them are flock(2) on files of the data folder. A lock belongs to the open file, not to the
process. Hence three rules:

- A lock is released by closing the file, never by unlocking: an unlock in a forked child would release
  the parent's lock.
- A forked child would keep the lock held, so the child closes all locks right after the fork.
- A program takes over a lock by inheriting the open file.
"""

import fcntl
import os
import weakref
from pathlib import Path
from types import TracebackType
from typing import Self

from mnemic.db.embedded.deadline import Deadline

CLOSED = -1


class FileLock:
    """One flock, held from the moment the object exists until `release`."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        _open_locks.add(self)

    @classmethod
    def try_acquire(cls, path: Path, *, exclusive: bool) -> Self | None:
        """Take the lock if it is free, else return None. The file must exist."""
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        if _try_flock(fd, exclusive=exclusive):
            return cls(fd)
        os.close(fd)
        return None

    @classmethod
    def acquire(cls, path: Path, deadline: Deadline, *, exclusive: bool, waiting_for: str) -> Self:
        while (lock := cls.try_acquire(path, exclusive=exclusive)) is None:
            deadline.pause(waiting_for)
        return lock

    @property
    def held(self) -> bool:
        return self._fd != CLOSED

    def fileno(self) -> int:
        return self._fd

    def release(self) -> None:
        """Close the file. Idempotent."""
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
    """Whether a process holds the lock exclusively.

    Takes the shared lock for an instant. Concurrent checks do not disturb each other, but a process that
    wants the exclusive lock must retry.
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


# Module state, because a fork copies every open file and the child must close them all.
_open_locks: weakref.WeakSet[FileLock] = weakref.WeakSet()


def _release_all_in_child() -> None:
    for lock in list(_open_locks):
        lock.release()


os.register_at_fork(after_in_child=_release_all_in_child)
