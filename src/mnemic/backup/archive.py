"""A backup file: an archive of `pg_dump` in custom format, and a line with its checksum after it.

The checksum finds damage, such as a flipped byte. It does not prove who made the file: a forger
writes a new checksum. A forged file gets as far as its rows: see `mnemic.backup.load`.

Files of earlier versions have no checksum. `pg_restore` finds most damage by itself.
"""

import json
import os
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO

from mnemic.backup.copy_script import CopyScript
from mnemic.backup.postgres_tools import READ_BYTES, output_of
from mnemic.errors import InvalidInputError, NotFoundError

# Text and vectors shrink to a half or a tenth. Beyond this, a file was made to fill the disk.
UNPACKED_RATIO_MAX = 200
UNPACKED_ALWAYS_ALLOWED_BYTES = 256 << 20
LISTING_MAX_BYTES = 64 << 20

_MAGIC = b"PGDMP"
_SEAL_FORMAT = "mnemic-backup"
_SEAL_START = b'\n{"format": "mnemic-backup", '
_SEAL_MAX_BYTES = 512
_ENTRY = re.compile(r"(?P<id>\d+); \d+ \d+ (?P<kind>TABLE DATA|SEQUENCE SET) (?P<schema>\S+) (?P<name>\S+) ")


@dataclass(frozen=True)
class Entry:
    """One part of an archive: the rows of a table, or the value of a sequence."""

    entry_id: int
    kind: str
    schema: str
    name: str


def seal(file: BinaryIO) -> None:
    """Add the checksum of a finished archive."""
    size_bytes = file.seek(0, os.SEEK_END)
    digest = _digest(file, size_bytes)
    seal = {"format": _SEAL_FORMAT, "version": 1, "archive_bytes": size_bytes, "sha256": digest}
    file.seek(size_bytes)
    file.write(b"\n" + json.dumps(seal).encode() + b"\n")
    file.flush()


def check_archive(path: Path) -> None:
    """Refuse a file that is not a backup, or is damaged; reads all of it."""
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise InvalidInputError(f"{path} is not a backup of Mnemic.")
            if not _is_intact(file):
                raise InvalidInputError(
                    f"{path} is damaged: its checksum does not match. Take another copy of the backup."
                )
    except OSError as error:
        raise NotFoundError(f"The backup {path} cannot be read: {error.strerror}.") from error


async def list_entries(path: Path) -> list[Entry]:
    """The parts of the archive that hold data."""
    listing = bytearray()
    async with output_of("pg_restore", "--format=custom", "--list", str(path)) as read:
        while chunk := await read():
            listing += chunk
            if len(listing) > LISTING_MAX_BYTES:
                raise InvalidInputError(f"{path} is not a backup of Mnemic: it has too many parts.")
    lines = listing.decode(errors="replace").splitlines()
    found = (match for line in lines if (match := _ENTRY.match(line)))
    return [Entry(int(match["id"]), match["kind"], match["schema"], match["name"]) for match in found]


@asynccontextmanager
async def data_of(path: Path, entries: Iterable[Entry]) -> AsyncIterator[CopyScript]:
    """The rows of these parts, in the order of the archive."""
    max_bytes = max(os.stat(path).st_size * UNPACKED_RATIO_MAX, UNPACKED_ALWAYS_ALLOWED_BYTES)
    with NamedTemporaryFile("w") as chosen:
        chosen.writelines(f"{entry.entry_id};\n" for entry in entries)
        chosen.flush()
        options = ("--format=custom", "--data-only", f"--use-list={chosen.name}", "--file=-")
        async with output_of("pg_restore", *options, str(path)) as read:
            yield CopyScript(read, max_bytes=max_bytes)


def _is_intact(file: BinaryIO) -> bool:
    """Whether the checksum matches, or there is none."""
    size_bytes = file.seek(0, os.SEEK_END)
    file.seek(max(0, size_bytes - _SEAL_MAX_BYTES))
    end = file.read()
    start = end.rfind(_SEAL_START)
    if start < 0:
        return True
    try:
        seal = json.loads(end[start:])
    except ValueError:
        return False
    archive_bytes = size_bytes - (len(end) - start)
    expected = {"format": _SEAL_FORMAT, "version": 1, "archive_bytes": archive_bytes}
    return bool(seal == {**expected, "sha256": _digest(file, archive_bytes)})


def _digest(file: BinaryIO, size_bytes: int) -> str:
    digest = sha256()
    file.seek(0)
    while size_bytes > 0 and (chunk := file.read(min(size_bytes, READ_BYTES))):
        digest.update(chunk)
        size_bytes -= len(chunk)
    return digest.hexdigest()
