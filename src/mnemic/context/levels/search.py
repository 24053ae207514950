"""Search results: each file once with the number of its hits; first hits of all files before the others."""

import re
from dataclasses import dataclass, field
from os.path import commonprefix

from mnemic.context.levels.excerpts import Piece, choose, fit_lines
from mnemic.context.levels.lines import Lines
from mnemic.context.levels.sketch import Sketch

HITS_SHARE_MIN = 0.5
"""Share of lines that must look like hits or paths, for a text to be a search result."""
FOLDER_PATHS_MIN, FOLDER_CHARS_MIN = 3, 8

# "path:12:text", and "path-12-text" for lines around a hit; "path:text" if a search printed no numbers.
_HIT = re.compile(r"((?:[A-Za-z]:)?[^\s:]{1,300}?)([:-])(\d{1,9})[:-](.*)", re.DOTALL)
_PATH = re.compile(r"[\w.@~+-]*(?:[/\\][\w.@+\[\]()-]+)*/?")
_PATH_TEXT = re.compile(r"([^\s:]{0,200}[/.][^\s:]{1,100}):(.*)", re.DOTALL)
_NUMBER_TEXT = re.compile(r"(\d{1,9})[:-](.*)", re.DOTALL)


@dataclass(slots=True)
class _File:
    path: str
    hits: list[str] = field(default_factory=list)
    around: list[str] = field(default_factory=list)


def sketch_search(lines: Lines) -> Sketch | None:
    """None if the text does not look like a search result."""
    files, other = _read(lines)
    known = len(lines.shown) - len(other)
    if not files or known < HITS_SHARE_MIN * sum(1 for line in lines.shown if line.strip()):
        return None
    hits = sum(len(file.hits) for file in files)
    folder = _folder_of([file.path for file in files])
    pieces, order = _ranked(files, other, folder)
    outline = [*([f"in {folder}"] if folder else []), *(_headline(file, folder) for file in files)]
    return Sketch(
        shape="search",
        title=f"{hits} hits in {len(files)} files" if hits else f"{len(files)} paths",
        units=len(files),
        excerpt=lambda chars: choose(pieces, order, chars, counts_gaps=True),
        outline=lambda chars: fit_lines(outline, chars),
    )


def _read(lines: Lines) -> tuple[list[_File], list[str]]:
    files: dict[str, _File] = {}
    other: list[str] = []
    heading: _File | None = None
    for line in lines.shown:
        path, number, text, is_hit = _parts(line)
        if path:
            heading = files.setdefault(path, _File(path))
            if number or text:
                (heading.hits if is_hit else heading.around).append(f"{number}: {text}" if number else text)
        elif heading is not None and (match := _NUMBER_TEXT.match(line)):
            heading.hits.append(f"{match[1]}: {match[2]}")
        else:
            other.append(line)
    return list(files.values()), [line for line in other if line.strip() not in ("", "--")]


def _parts(line: str) -> tuple[str, str, str, bool]:
    """Path, number and text of a hit or of a line around it; only a path; or nothing."""
    match = _HIT.match(line)
    if match and ("/" in match[1] or "." in match[1] or "\\" in match[1]):
        return match[1], match[3], match[4], match[2] == ":"
    text = line.strip()
    if ("/" in text or "." in text) and _PATH.fullmatch(text):
        return text, "", "", False
    if match := _PATH_TEXT.match(line):
        return match[1], "", match[2], True
    return "", "", "", False


def _ranked(files: list[_File], other: list[str], folder: str) -> tuple[list[Piece], list[int]]:
    """Pieces by file, and their order: words of the tool, files, first hits, other hits, lines around."""
    pieces = [Piece(line) for line in other]
    if folder:
        pieces.append(Piece(f"in {folder}", lines=0))
    ranks: list[tuple[int, int]] = [(0, index) for index in range(len(pieces))]
    for file in files:
        ranks.append((1, len(pieces)))
        pieces.append(Piece(_headline(file, folder), lines=0 if file.hits or file.around else 1))
        for place, text in enumerate([*file.hits, *file.around]):
            ranks.append((2 if place == 0 else 3 if place < len(file.hits) else 4, len(pieces)))
            pieces.append(Piece(f"  {text}"))
    return pieces, [index for _, index in sorted(ranks)]


def _headline(file: _File, folder: str) -> str:
    path = file.path.removeprefix(folder)
    return f"{path} ({len(file.hits)})" if file.hits else path


def _folder_of(paths: list[str]) -> str:
    """The folder that all paths have in common, if naming it once saves anything."""
    folder = commonprefix(paths).rpartition("/")[0]  # noqa: RUF071 (cut at a slash on the same line)
    return f"{folder}/" if len(paths) >= FOLDER_PATHS_MIN and len(folder) >= FOLDER_CHARS_MIN else ""
