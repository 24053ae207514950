"""Files that users name: never overwritten by accident, never half-written under their final name."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from mnemic.errors import ConflictError, InvalidInputError, NotFoundError


@contextmanager
def new_file(path: Path, *, replace: bool) -> Iterator[BinaryIO]:
    """A file that only its owner can read; it gets its final name when the block succeeds."""
    if path.exists() and not replace:
        raise ConflictError(f"{path} exists already. Choose another name, or allow replacing it (replace).")
    unfinished = path.with_name(f"{path.name}.unfinished-{os.getpid()}")
    try:
        with open(unfinished, "x+b", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise NotFoundError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(FileNotFoundError):
            unfinished.unlink()


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """A file to read from."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}.") from error
    with file:
        yield file


def check_path(path: object) -> Path:
    """The path that a caller passed; InvalidInputError if it is not a path."""
    if not isinstance(path, str | PathLike) or "\0" in str(path):
        raise InvalidInputError("path must be the name of a file, as text or a Path.")
    return Path(path)
