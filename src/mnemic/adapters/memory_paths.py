"""Paths of Anthropic's memory tool: validation, and the listing of a folder."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from mnemic.errors import InvalidInputError
from mnemic.types.scope import check_name

ROOT = "/memories"
LISTED_DEPTH = 2
PATH_MAX_CHARACTERS = 240
HIDDEN = "node_modules"


def check_path(path: object) -> str:
    """A path below `/memories`, without a trailing slash; InvalidInputError for any other path.

    Nothing is resolved or decoded: a path that could lead out is refused.
    """
    if not isinstance(path, str) or len(path) > PATH_MAX_CHARACTERS:
        raise InvalidInputError(f"path must be a text of at most {PATH_MAX_CHARACTERS} characters.")
    check_name("path", path)
    clean = path.rstrip("/")
    parts = clean.split("/")[1:]
    if not (clean + "/").startswith(ROOT + "/"):
        raise InvalidInputError(f"path must begin with {ROOT}.")
    if any(part in ("", ".", "..") or "\\" in part or "%" in part for part in parts):
        raise InvalidInputError("path must not contain '.', '..', '//', backslashes or percent signs.")
    return clean


def parents(path: str) -> list[str]:
    """The folders between `/memories` and a path."""
    return [str(folder) for folder in PurePosixPath(path).parents if str(folder).startswith(f"{ROOT}/")]


def listing(path: str, sizes: Mapping[str, int]) -> str:
    """A folder with its files and folders, two levels deep; the size of a folder includes all its files."""
    totals = {path: 0}
    for name, size in sizes.items():
        parts = name.removeprefix(f"{path}/").split("/")
        if any(part.startswith(".") or part == HIDDEN for part in parts):
            continue
        totals[path] += size
        for depth in range(1, min(LISTED_DEPTH, len(parts)) + 1):
            place = "/".join((path, *parts[:depth]))
            totals[place] = totals.get(place, 0) + size
    head = (
        f"Here're the files and directories up to {LISTED_DEPTH} levels deep in {path}, excluding hidden "
        f"items and {HIDDEN}:"
    )
    return "\n".join([head, *(f"{_size(totals[name])}\t{name}" for name in sorted(totals))])


def _size(size_bytes: int) -> str:
    if size_bytes < 1024:
        return f"{size_bytes}B"
    return f"{size_bytes / 1024:.1f}K" if size_bytes < 1024**2 else f"{size_bytes / 1024**2:.1f}M"
