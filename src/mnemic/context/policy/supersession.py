"""Which objects another one makes unnecessary: a file read again supersedes its older copy."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from mnemic.context.levels.kinds import file_of, source_key
from mnemic.context.piece import Piece

# Tools of the known clients, in lower case and without separators.
_EDITING = frozenset(
    (
        *("edit", "multiedit", "write", "writefile", "writetofile", "replaceinfile", "strreplace", "patch"),
        *(
            "applypatch",
            "notebookedit",
            "strreplacebasededittool",
            "strreplaceeditor",
            "createfile",
            "editfile",
        ),
    )
)
_READING = frozenset(("read", "readfile", "view", "viewfile", "cat", "notebookread", "openfile"))
_LINES_READ = re.compile(r":(\d+)-(\d*)$")
_NUMBER = re.compile(r"^\s*\d+(?:→|\t|: )")


def is_editing(tool: str) -> bool:
    """Whether a tool changes files."""
    return _plain(tool) in _EDITING


def file_path(tool: str, arguments: Mapping[str, Any]) -> str:
    """The file that a tool reads or edits; empty for other tools."""
    return file_of(source_key(tool, arguments)) if handles_files(tool) else ""


def handles_files(tool: str) -> bool:
    """Whether a tool reads or changes files."""
    return _plain(tool) in _EDITING or _plain(tool) in _READING


def file_name(path: str) -> str:
    """The last part of a path, by which an assistant speaks of a file."""
    return path.rstrip("/").rpartition("/")[2]


def supersedes(newer: Piece, older: Piece) -> bool:
    """Whether a newer object holds all that an older one of the same source did.

    A read of the whole file supersedes every older read; a read of a part those of parts within it.
    """
    if newer.entry.is_error or not newer.source_key or is_editing(newer.entry.tool):
        return False
    if newer.path:
        return newer.path == older.path and not is_editing(older.entry.tool) and _covers(newer, older)
    return newer.entry.tool == older.entry.tool and newer.source_key == older.source_key


def shows_all(copies: Iterable[Piece], piece: Piece) -> bool:
    """Whether copies of a file together hold every line of another one, whatever its number."""
    known = set[str]().union(*(_lines(each.entry.text) for each in copies))
    return _lines(piece.entry.text) <= known


def _lines(text: str) -> set[str]:
    return {_NUMBER.sub("", line).strip() for line in text.split("\n")}


def _covers(newer: Piece, older: Piece) -> bool:
    if newer.source_key in (newer.path, older.source_key):
        return True
    (first, last), (older_first, older_last) = _lines_read(newer), _lines_read(older)
    return first <= older_first and older_last <= last


def _lines_read(piece: Piece) -> tuple[float, float]:
    """First and last line that was asked for."""
    found = _LINES_READ.search(piece.source_key)
    if not found:
        return 1, math.inf
    return int(found[1]), int(found[2]) if found[2] else math.inf


def _plain(tool: str) -> str:
    return re.sub(r"[\W_]", "", tool.rpartition("__")[2]).lower()
