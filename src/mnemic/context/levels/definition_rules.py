"""Definitions in code by rules, line by line: for languages without a grammar, and without the extra."""

import re

from mnemic.context.levels.definitions import Definition

DEFINITIONS_MAX = 5_000
LINE_CHARS_MAX = 300
_DEPTH_MAX = 4
_INDENT = 4

# Every pattern is anchored and looks at a line of at most `LINE_CHARS_MAX` characters.
_MODIFIERS = (
    r"(?:(?:export|default|pub(?:\([a-z]+\))?|public|private|protected|internal|static|abstract|final|async"
    r"|override|virtual|sealed|partial|unsafe|extern|inline|readonly|declare|open|suspend|data)\s+){0,6}"
)
_KEYWORD = re.compile(
    rf"\s*{_MODIFIERS}(?:func|def|class|type|interface|struct|enum|impl|trait|fn|function\*?|module|namespace"
    r"|record|union|mod|object|protocol|extension|macro_rules!|sub|proc|defmodule|defp|const|var|let|val"
    r"|CREATE\s+(?:OR\s+REPLACE\s+)?(?:TABLE|FUNCTION|VIEW|INDEX|TYPE))"
    r"\s+(?:\([^()]{0,80}\)\s*)?([A-Za-z_$][\w$.]*)"
)
_SHELL = re.compile(r"([A-Za-z_][\w-]*)\s*\(\)\s*\{?\s*$")
# Type name(arguments): C, Java, C#; inside a class only with a modifier, since calls look alike.
_TYPED = re.compile(
    rf"\s*{_MODIFIERS}[A-Za-z_][\w:<>,*&\[\]]*(?:\s+[\w:<>,*&\[\]]+){{0,4}}\s+[*&]*([A-Za-z_]\w*)\s*\([^;{{]*(?:\{{.*)?$"
)
_MODIFIED = re.compile(r"\s*(?:public|private|protected|internal|static|virtual|override|abstract)\s")
_NOT_NAMES = frozenset({"if", "for", "while", "switch", "catch", "return", "else", "do", "sizeof", "elif"})


def find_definitions(rows: list[str]) -> list[Definition]:
    """Definitions of code, given its lines; a definition ends before the next one that is not deeper."""
    starts = [
        (row, name, depth)
        for row, line in enumerate(rows)
        if (name := _name_in(line))
        for depth in [_depth(line)]
    ]
    starts = starts[:DEFINITIONS_MAX]
    ends = _ends([(row, depth) for row, _, depth in starts], len(rows))
    return [
        Definition((name,), row, row, end, depth)
        for (row, name, depth), end in zip(starts, ends, strict=True)
    ]


def _name_in(line: str) -> str:
    text = line[:LINE_CHARS_MAX]
    match = _KEYWORD.match(text) or _SHELL.match(text)
    if match is None and (text[:1].strip() or _MODIFIED.match(text)):
        match = _TYPED.match(text)
    name = match[1] if match else ""
    return "" if name in _NOT_NAMES else name


def _depth(line: str) -> int:
    text = line[:LINE_CHARS_MAX].expandtabs(_INDENT)
    return min(_DEPTH_MAX, (len(text) - len(text.lstrip())) // _INDENT)


def _ends(starts: list[tuple[int, int]], rows: int) -> list[int]:
    """For each start the row before the next start of the same or a smaller depth."""
    ends = [rows - 1] * len(starts)
    open_starts: list[int] = []
    for index, (row, depth) in enumerate(starts):
        while open_starts and starts[open_starts[-1]][1] >= depth:
            ends[open_starts.pop()] = row - 1
        open_starts.append(index)
    return ends
