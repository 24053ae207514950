"""The files to read records from: one file, the matching files of a folder, the members of a ZIP archive.

An archive may come from an untrusted source. Nothing is extracted: members are read as streams and selected
by the last part of their names, so that paths in an archive have no effect. The declared size and the
compression ratio of a member are checked before it is read.
"""

import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TextIO

from mnemic.errors import InvalidInputError, NotFoundError

MEMBER_MAX_BYTES = 8 << 30
"""Limit for the size of one member of an archive."""

COMPRESSION_MAX_RATIO = 200
"""JSON compresses to a tenth, repetitive JSON to a fiftieth; a higher ratio is a zip bomb."""

RATIO_CHECKED_MIN_BYTES = 1 << 20
"""The ratio of smaller members is not checked."""

MEMBERS_MAX = 100_000
ENCRYPTED_FLAG = 0x1
ZIP_MAGIC = b"PK\x03\x04"


def text_files(path: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, TextIO]]:
    """Name and text of a file, or of the files in a folder or archive whose names match."""
    if path.is_dir():
        yield from _in_folder(path, wanted)
    elif _is_archive(path):
        yield from _in_archive(path, wanted)
    else:
        with open_text(path) as file:
            yield path.name, file


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """A file of UTF-8 text."""
    try:
        with path.open(encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror or error}.") from error


def _in_folder(folder: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, TextIO]]:
    found = sorted(path for path in folder.iterdir() if path.is_file() and wanted.fullmatch(path.name))
    if not found:
        raise NotFoundError(f"{folder} has no file whose name matches {wanted.pattern}.")
    for path in found:
        with open_text(path) as file:
            yield path.name, file


def _is_archive(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(ZIP_MAGIC)) == ZIP_MAGIC
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror or error}.") from error


def _in_archive(path: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, TextIO]]:
    try:
        with zipfile.ZipFile(path) as archive:
            for member in _members(path, archive, wanted):
                with archive.open(member) as file, io.TextIOWrapper(file, encoding="utf-8") as text:
                    yield PurePosixPath(member.filename).name, text
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, EOFError, OSError) as error:
        raise InvalidInputError(f"{path} is a damaged ZIP archive: {error}.") from error


def _members(path: Path, archive: zipfile.ZipFile, wanted: re.Pattern[str]) -> list[zipfile.ZipInfo]:
    every = archive.infolist()
    if len(every) > MEMBERS_MAX:
        raise InvalidInputError(f"{path} has {len(every):,} members; the limit is {MEMBERS_MAX:,}.")
    found = [member for member in every if wanted.fullmatch(PurePosixPath(member.filename).name)]
    if not found:
        raise NotFoundError(f"{path} has no member whose name matches {wanted.pattern}.")
    for member in found:
        _check_member(path, member)
    _check_total(path, found)
    return sorted(found, key=lambda member: member.filename)


def _check_total(path: Path, members: list[zipfile.ZipInfo]) -> None:
    """Members of a bomb share their compressed data: each is harmless, all together are not."""
    size = sum(member.file_size for member in members)
    if size > max(RATIO_CHECKED_MIN_BYTES, COMPRESSION_MAX_RATIO * path.stat().st_size):
        raise InvalidInputError(
            f"{path} is compressed by more than {COMPRESSION_MAX_RATIO} times, unlike any export. If you "
            "trust it, extract it first, and import the files."
        )


def _check_member(path: Path, member: zipfile.ZipInfo) -> None:
    what = f"{PurePosixPath(member.filename).name} in {path}"
    if member.flag_bits & ENCRYPTED_FLAG:
        raise InvalidInputError(f"{what} is encrypted: extract it first, and import the file.")
    if member.file_size > MEMBER_MAX_BYTES:
        raise InvalidInputError(
            f"{what} has {member.file_size:,} bytes; the limit in an archive is {MEMBER_MAX_BYTES:,}."
        )
    limit = max(RATIO_CHECKED_MIN_BYTES, COMPRESSION_MAX_RATIO * member.compress_size)
    if member.file_size > limit:
        raise InvalidInputError(
            f"{what} is compressed by more than {COMPRESSION_MAX_RATIO} times, unlike any export. If you "
            "trust it, extract it first, and import the file."
        )
