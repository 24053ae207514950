"""Read a local file whole, within the size limit."""

from os import PathLike
from pathlib import Path

from mnemic.documents.reading.media_types import SOURCE_MAX_BYTES
from mnemic.errors import InvalidInputError, NotFoundError


def read_file(path: str | PathLike[str]) -> bytes:
    """The bytes of a file; InvalidInputError if it is too large, NotFoundError if it cannot be read."""
    if not isinstance(path, str | PathLike):
        raise InvalidInputError(f"path must be the path of a file, not {type(path).__name__}.")
    try:
        with Path(path).open("rb") as file:
            data = file.read(SOURCE_MAX_BYTES + 1)
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise NotFoundError(f"{path!r} cannot be read: {error}.") from error
    if len(data) > SOURCE_MAX_BYTES:
        raise InvalidInputError(f"{path} is larger than {SOURCE_MAX_BYTES:,} bytes, which is the limit.")
    return data
