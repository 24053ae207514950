"""What a kind of content gives to make its levels from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from mnemic.context.levels.excerpts import Excerpt

Shape = Literal["code", "output", "search", "paths", "diff", "data", "prose"]


@dataclass(frozen=True, slots=True)
class Sketch:
    """A text that was read once: level 1 takes its excerpt, level 2 its outline."""

    shape: Shape
    title: str
    """What the text is, in a few words for the header, such as "42 hits in 7 files"."""
    units: int
    """Definitions, errors, files, changed files, entries or headings."""
    excerpt: Callable[[int], Excerpt]
    """The most useful lines within a number of characters."""
    outline: Callable[[int], str]
    """One line per unit, the most useful first, within a number of characters."""
    defined: tuple[str, ...] = ()
    """Names that the text defines."""


def plural(count: int, noun: str) -> str:
    """Such as "1 file" and "3 files"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
