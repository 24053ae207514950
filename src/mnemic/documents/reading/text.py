"""The result of reading a document: its text, and where its sections begin."""

from dataclasses import dataclass

PAGES_MAX = 10_000
"""Pages of a PDF, unless the setting `document_max_pages` says otherwise."""
HEADING_MAX_CHARACTERS = 200
"""Longer headings are truncated: every chunk of a section repeats them."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the text under the same headings, outermost first, or on the same page.

    Positions count characters. The section begins at `start` with its own heading, if it has one; `body` is
    where the text under that heading begins.
    """

    start: int
    headings: tuple[str, ...] = ()
    page: int | None = None
    body: int | None = None

    @property
    def body_start(self) -> int:
        """Where the text begins, after the heading."""
        return self.body if self.body is not None else self.start

    def contains(self, other: "Section") -> bool:
        """Whether the other section lies under the heading of this one."""
        depth = len(self.headings)
        return 0 < depth < len(other.headings) and other.headings[:depth] == self.headings


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a document, its sections in order, and its title if it has one."""

    text: str
    sections: tuple[Section, ...] = (Section(0),)
    title: str | None = None


def nested(outer: tuple[str, ...], level: int, heading: str) -> tuple[str, ...]:
    """The path of headings after a heading of this level (1 is the outermost)."""
    return (*outer[: level - 1], " ".join(heading.split())[:HEADING_MAX_CHARACTERS])


def storable(text: str) -> str:
    """Drop NULs and lone surrogates, which fonts without a character table produce and PostgreSQL refuses."""
    return text.replace("\0", "").encode(errors="ignore").decode()
