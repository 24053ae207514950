"""Which objects another one makes unnecessary: a file read again supersedes its older copy."""

import re
from collections.abc import Mapping
from typing import Any

from mnemic.context.levels.kinds import file_of, source_key
from mnemic.context.piece import Piece

# Tools of the known clients, in lower case and without separators.
_EDITING = frozenset(
    (
        *("edit", "multiedit", "write", "writefile", "writetofile", "replaceinfile", "strreplace", "patch"),
        *("applypatch", "notebookedit", "strreplacebasededittool", "strreplaceeditor", "createfile", "editfile"),
    )
)
_READING = frozenset(("read", "readfile", "view", "viewfile", "cat", "notebookread", "openfile"))


def is_editing(tool: str) -> bool:
    """Whether a tool changes files."""
    return _plain(tool) in _EDITING


def file_path(tool: str, arguments: Mapping[str, Any]) -> str:
    """The file that a tool reads or edits; empty for other tools."""
    if _plain(tool) in _EDITING or _plain(tool) in _READING:
        return file_of(source_key(tool, arguments))
    return ""


def supersedes(newer: Piece, older: Piece) -> bool:
    """Whether a newer object holds all that an older one of the same source did.

    A read of the whole file supersedes every older read; a read of a part only the same part.
    """
    if newer.entry.is_error or not newer.source_key or is_editing(newer.entry.tool):
        return False
    if newer.path:
        return newer.path == older.path and newer.source_key in (newer.path, older.source_key)
    return newer.entry.tool == older.entry.tool and newer.source_key == older.source_key


def _plain(tool: str) -> str:
    return re.sub(r"[\W_]", "", tool.rpartition("__")[2]).lower()
