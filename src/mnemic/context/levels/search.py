"""Search results: each file once with the number of its hits; first hits of all files before the others."""

import re
from dataclasses import dataclass, field
from os.path import commonprefix

from mnemic.context.levels.excerpts import ExcerptLine, choose, fit_words
from mnemic.context.levels.lines import Lines
from mnemic.context.levels.sketch import Sketch, plural

HITS_SHARE_MIN = 0.5
"""Share of lines that must look like hits or paths, for a text to be a search result."""
FOLDER_PATHS_MIN, FOLDER_CHARS_MIN = 3, 8
SAME_NAME_MAX = 20
"""Files of one name that are compared, to join an absolute path with a relative one."""

# "path:12:text", and "path-12-text" for lines around a hit; "path:text" if a search printed no numbers.
_HIT = re.compile(r"((?:[A-Za-z]:)?[^\s:]{1,300}?)([:-])(\d{1,9})[:-](.*)", re.DOTALL)
_PATH = re.compile(r"[\w.@~+-]*(?:[/\\][\w.@+\[\]()-]+)*/?")
_PATH_TEXT = re.compile(r"([^\s:]{2,300}):(.*)", re.DOTALL)
_SEPARATOR = re.compile(r"[/.]")
_NUMBER_TEXT = re.compile(r"(\d{1,9})([:-])(.*)", re.DOTALL)


@dataclass(slots=True)
class _File:
    path: str
    lines: list[tuple[str, bool]] = field(default_factory=list)
    """Lines with their numbers, and whether each is a hit."""

    @property
    def hits(self) -> int:
        return sum(is_hit for _, is_hit in self.lines)


def sketch_search(lines: Lines, key: str = "") -> Sketch | None:
    """None if the text does not look like a search result. `key`: the pattern, with the path after "in"."""
    files, other = _read(lines, key.rpartition(" in ")[2])
    known = len(lines.shown) - len(other)
    if not files or known < HITS_SHARE_MIN * len(lines.shown):
        return None
    hits = sum(file.hits for file in files)
    folder = _folder_of([file.path for file in files])
    pieces, order = _ranked(files, other, folder)
    outline = [*([f"in {folder}"] if folder else []), *(_headline(file, folder) for file in files)]
    return Sketch(
        shape="search" if hits else "paths",
        title=f"{hits} hits in {plural(len(files), 'file')}" if hits else f"{len(files)} paths",
        units=len(files),
        excerpt=lambda chars: choose(pieces, order, chars, "unmarked"),
        outline=lambda chars: fit_words(outline, chars),
    )


def _read(lines: Lines, searched: str) -> tuple[list[_File], list[str]]:
    """Files with their lines, and lines that are neither. `searched`: where the search looked."""
    files: dict[str, _File] = {}
    other: list[str] = []
    heading = _File(searched)
    for line in lines.shown:
        path, number, text, is_hit = _parts(line)
        if path:
            heading = files.setdefault(path, _File(path))
        elif match := _NUMBER_TEXT.match(line):
            files.setdefault(heading.path, heading)
            number, text, is_hit = match[1], match[3], match[2] == ":"
        elif line.strip() not in ("", "--"):
            other.append(line)
            continue
        if number or text:
            heading.lines.append((f"{number}: {text}" if number else text, is_hit))
    return _merged(list(files.values())), other


def _merged(files: list[_File]) -> list[_File]:
    """Some tools print hits with a relative path and the lines around them with an absolute one."""
    by_name: dict[str, list[_File]] = {}
    for file in files:
        by_name.setdefault(file.path.rpartition("/")[2], []).append(file)
    merged = []
    for file in files:
        same = by_name[file.path.rpartition("/")[2]][:SAME_NAME_MAX]
        short = next((each for each in same if file.path.endswith(f"/{each.path}")), None)
        if short is None:
            merged.append(file)
        else:
            short.lines.extend(file.lines)
    for file in merged:
        file.lines.sort(key=lambda line: _number_of(line[0]))
    return merged


def _number_of(text: str) -> int:
    match = _NUMBER_TEXT.match(text)
    return int(match[1]) if match else 0


def _parts(line: str) -> tuple[str, str, str, bool]:
    """Path, number and text of a hit or of a line around it; only a path; or nothing."""
    match = _HIT.match(line)
    if match and _is_file(match[1], needs_extension=match[2] == "-"):
        return match[1], match[3], match[4], match[2] == ":"
    text = line.strip()
    if ("/" in text or "." in text) and _PATH.fullmatch(text):
        return text, "", "", False
    match = _PATH_TEXT.match(line)
    if (
        match
        and _SEPARATOR.search(match[1], 0, len(match[1]) - 1)
        and _is_file(match[1], needs_extension=True)
    ):
        return match[1], "", match[2], True
    return "", "", "", False


def _is_file(path: str, *, needs_extension: bool) -> bool:
    name = path.replace("\\", "/").rpartition("/")[2]
    return "." in name[1:] if needs_extension else "." in name or "/" in path


def _ranked(files: list[_File], other: list[str], folder: str) -> tuple[list[ExcerptLine], list[int]]:
    """Pieces by file, and their order: words of the tool, files, first hits, other hits, lines around."""
    pieces = [ExcerptLine(line) for line in other]
    if folder:
        pieces.append(ExcerptLine(f"in {folder}", lines=0))
    ranks: list[tuple[int, int]] = [(0, index) for index in range(len(pieces))]
    for file in files:
        ranks.append((1, len(pieces)))
        pieces.append(ExcerptLine(_headline(file, folder), lines=0 if file.lines else 1))
        hits = 0
        for text, is_hit in file.lines:
            hits += is_hit
            ranks.append((4 if not is_hit else 2 if hits == 1 else 3, len(pieces)))
            pieces.append(ExcerptLine(f" {text}"))
    return pieces, [index for _, index in sorted(ranks)]


def _headline(file: _File, folder: str) -> str:
    path = file.path.removeprefix(folder)
    return f"{path} ({file.hits})" if file.hits else path


def _folder_of(paths: list[str]) -> str:
    """The folder that all paths have in common, if naming it once saves anything."""
    folder = commonprefix(paths).rpartition("/")[0]  # noqa: RUF071 (cut at a slash on the same line)
    return f"{folder}/" if len(paths) >= FOLDER_PATHS_MIN and len(folder) >= FOLDER_CHARS_MIN else ""
