"""Which objects another one makes unnecessary: a file read again supersedes its older copy."""

from collections.abc import Mapping
from typing import Any

from mnemic.context.piece import Piece

EDITING_TOOLS = frozenset(
    [
        "edit",
        "multiedit",
        "write",
        "notebookedit",
        "apply_patch",
        "patch",
        "str_replace",
        "str_replace_editor",
        "str_replace_based_edit_tool",
        "create_file",
        "edit_file",
        "write_file",
    ]
)
"""Tools of the known clients that change files, in lower case."""
_START_NAMES = ("offset", "start_line", "start")
_LENGTH_NAMES = ("limit", "end_line", "length")


def is_editing(tool: str) -> bool:
    """Whether a tool changes files."""
    return tool.lower() in EDITING_TOOLS


def supersedes(newer: Piece, older: Piece) -> bool:
    """Whether a newer object holds all that an older one of the same source did.

    A read of the whole file supersedes every older read; a read of a part only the same part.
    """
    if newer.type != older.type or not newer.source_key or newer.source_key != older.source_key:
        return False
    if newer.entry.tool != older.entry.tool or newer.entry.is_error or is_editing(newer.entry.tool):
        return False
    if newer.type == "file":
        return _part(newer.entry.arguments) in (("", ""), _part(older.entry.arguments))
    return dict(newer.entry.arguments) == dict(older.entry.arguments)


def _part(arguments: Mapping[str, Any]) -> tuple[str, str]:
    """Which part of a file was asked for; empty for the whole file."""
    start = next((str(arguments[name]) for name in _START_NAMES if arguments.get(name)), "")
    length = next((str(arguments[name]) for name in _LENGTH_NAMES if arguments.get(name)), "")
    return start, length
