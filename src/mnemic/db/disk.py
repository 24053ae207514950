"""Errors of a disk that takes no more data: it is full, or was remounted read-only.

PostgreSQL reports its own disk by SQLSTATE (`translate.py`). This module covers files of this process, such
as the spool of a long call, and the data folder of the embedded server, whose free space it reads.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mnemic.errors import DatabaseReadOnlyError, DatabaseUnavailableError, DiskFullError, MnemicError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})

DATABASE_DISK_FULL = (
    "The disk of the database is full. Nothing was written: free some space on it, then try again."
)
DATABASE_READ_ONLY = (
    "The database is read-only: it is a standby, or its disk was remounted read-only after an error. Nothing "
    "was written."
)
DATABASE_STOPPED = (
    "The disk of the database is full, and the database has stopped. Free some space on it, and it starts "
    "again by itself. A write that was in progress may or may not have been stored; repeating it is safe."
)
STOPPED_MAX_FREE_BYTES = 16 * 1024**2
"""PostgreSQL stops if it cannot create the next file of its write-ahead log, which has this size."""
OWN_DISK_FULL = (
    "The disk for temporary files is full. Nothing was written: free some space on it, or set TMPDIR to "
    "another disk, then try again."
)


@contextmanager
def translated_disk_errors() -> Iterator[None]:
    """Run a block that writes temporary files; a full disk is a DiskFullError."""
    try:
        yield
    except OSError as error:
        translated = disk_error(error)
        if translated is None:
            raise
        raise translated from error


def disk_error(error: OSError) -> MnemicError | None:
    """The Mnemic error for an error of the operating system, if the disk for temporary files is full."""
    return DiskFullError(OWN_DISK_FULL) if error.errno in FULL else None


def explain_unavailable(error: MnemicError, folder: Path) -> MnemicError:
    """A DiskFullError in place of an error about an embedded server that stopped because its disk is full."""
    try:
        check_data_folder(folder, min_free_bytes=STOPPED_MAX_FREE_BYTES)
    except DiskFullError:
        return DiskFullError(DATABASE_STOPPED)
    except MnemicError:
        return error
    return error


def check_data_folder(folder: Path, *, min_free_bytes: int) -> None:
    """Raise if the disk of a data folder is read-only or has too little space."""
    try:
        disk = os.statvfs(folder)
    except OSError as error:
        raise DatabaseUnavailableError(f"The data folder cannot be read: {error.strerror}.") from error
    if disk.f_flag & os.ST_RDONLY:
        raise DatabaseReadOnlyError(DATABASE_READ_ONLY)
    if disk.f_bavail * disk.f_frsize < min_free_bytes:
        raise DiskFullError(DATABASE_DISK_FULL)
