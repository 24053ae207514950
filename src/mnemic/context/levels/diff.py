"""Diffs: files and hunks first, then changed lines, then the lines around them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mnemic.context.levels.excerpts import ExcerptLine, choose, clip, fit_lines
from mnemic.context.levels.lines import Lines
from mnemic.context.levels.sketch import Sketch, plural

HUNK_CHARS = 120
_FILE = re.compile(r"diff --git a/(.*?) b/|\+\+\+ (?:b/)?(\S+)|\*\*\* (?:Update|Add|Delete) File: (.+)")
_HUNK = re.compile(r"@@+ [^@]*@@+ ?(.*)|@@ ?(.*)")
_CHANGE = re.compile(r"[+-](?![+-]{2} )")
_DEFINED = re.compile(
    r"[+-]\s*(?:\w+\s+){0,4}(?:func|def|class|type|interface|struct|enum|fn|function|trait|impl|const|var)\s"
    r"+(?:\([^()]{0,80}\)\s*)?([A-Za-z_]\w*)"
)


@dataclass(slots=True)
class _Changed:
    path: str
    added: int = 0
    removed: int = 0


def sketch_diff(lines: Lines) -> Sketch | None:
    """None if the text names no changed file and no hunk."""
    files, hunks, changes = _read(lines.content)
    if not files and not hunks:
        return None
    pieces = [ExcerptLine(line) for line in lines.shown]
    order = list(_order(lines.content))
    outline = [f"{file.path} +{file.added} −{file.removed}" for file in files] + hunks
    return Sketch(
        shape="diff",
        title=f"{plural(len(files), 'file')}, {plural(changes, 'changed line')}",
        units=len(files),
        excerpt=lambda chars: choose(pieces, order, chars),
        outline=lambda chars: fit_lines(outline, chars),
        defined=tuple(dict.fromkeys(match[1] for line in lines.content if (match := _DEFINED.match(line)))),
    )


def _read(content: list[str]) -> tuple[list[_Changed], list[str], int]:
    files: dict[str, _Changed] = {}
    hunks: list[str] = []
    changes = 0
    current: _Changed | None = None
    for line in content:
        if match := _FILE.match(line):
            path = next(group for group in match.groups() if group)
            if path != "/dev/null":
                current = files.setdefault(path, _Changed(path))
        elif match := _HUNK.match(line):
            hunks.append(clip(match[1] or match[2] or "", HUNK_CHARS))
        elif _CHANGE.match(line):
            changes += 1
            if current is not None:
                current.added += line[0] == "+"
                current.removed += line[0] == "-"
    return list(files.values()), [hunk for hunk in dict.fromkeys(hunks) if hunk], changes


def _order(content: list[str]) -> Iterator[int]:
    ranked: tuple[list[int], ...] = ([], [], [], [], [])
    for index, line in enumerate(content):
        if line.startswith(("diff --git", "*** ")):
            rank = 0
        elif line.startswith("@@"):
            rank = 1
        elif _CHANGE.match(line):
            rank = 1 if _DEFINED.match(line) else 2
        else:
            rank = 4 if line.startswith(("index ", "--- ", "+++ ")) else 3
        ranked[rank].append(index)
    for indexes in ranked:
        yield from indexes
