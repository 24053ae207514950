"""What reading a document gives: its text, and where its sections begin."""

from dataclasses import dataclass

HEADING_MAX_CHARACTERS = 200
"""A heading that is longer is cut: it is repeated with every chunk of its section."""


@dataclass(frozen=True, slots=True)
class Section:
    """From `start` on, in characters, text stands under these headings, outermost first, or on this page."""

    start: int
    headings: tuple[str, ...] = ()
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of a document, its sections in order, and its title, if it says one."""

    text: str
    sections: tuple[Section, ...] = (Section(0),)
    title: str | None = None


def nested(outer: tuple[str, ...], level: int, heading: str) -> tuple[str, ...]:
    """The path of headings after one of this level (1 is the outermost) has begun."""
    return (*outer[: level - 1], " ".join(heading.split())[:HEADING_MAX_CHARACTERS])
