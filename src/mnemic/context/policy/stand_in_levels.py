"""Plain levels, until `context/levels` has its own."""

import re
from collections.abc import Mapping
from typing import Any

from mnemic.context.levels.level import Level, LevelText, ObjectType, Source

_TYPES: dict[str, ObjectType] = {"read": "file", "bash": "command", "grep": "search", "glob": "search"}
_SHARES = {1: 0.28, 2: 0.05}
_SIGNATURE = re.compile(
    r"^\s*\d*[→\t]?\s*(?:export |pub |async |public |private |static )*"
    r"(?:func|def|class|type|interface|struct|enum|fn|import|from|const|function)\b"
)


def kind_of(tool: str, arguments: Mapping[str, Any], text: str) -> ObjectType:
    """The kind of content by its tool."""
    return _TYPES.get(tool.lower(), "other")


def source_key(tool: str, arguments: Mapping[str, Any]) -> str:
    """What the tool was asked for."""
    for name in ("file_path", "path", "command", "pattern", "description"):
        if arguments.get(name):
            return str(arguments[name])
    return ""


def make_level(source: Source, level: Level) -> LevelText:
    """Signatures, then the head, within the share of the level."""
    lines = source.text.split("\n")
    head = f"[{source.tool} {source.key[:120]}: {len(lines)} lines, {len(source.text)} chars; paged out]"
    if level in _SHARES:
        chosen, used = set(), 0
        ranked = sorted(range(len(lines)), key=lambda n: (not _SIGNATURE.match(lines[n]), n))
        for number in ranked:
            used += min(240, len(lines[number])) + 1
            if used > _SHARES[level] * len(source.text):
                break
            chosen.add(number)
        head = "\n".join([head, *(lines[n][:240] for n in sorted(chosen))])
    return LevelText(level=level, text="" if level == 4 else head, tokens=len(head) // 3)
