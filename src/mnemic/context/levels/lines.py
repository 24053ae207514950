"""The lines of a text, with the numbers that a tool printed before them."""

import re
from dataclasses import dataclass

from mnemic.context.levels.excerpts import Gaps

LINES_MAX = 20_000
"""Of a longer text the first and the last half of so many lines are looked at."""
LINE_CHARS_MAX = 400
"""A longer line is cut into pieces of this length, or, if these were too many, cut off."""
NUMBERED_SHARE = 0.6
"""Share of the first lines with a number, above which the numbers are not a part of the text."""
_SAMPLE = 60

# "   12→", "12\t" and "12: " of tools that read files; at most nine digits.
_NUMBER = re.compile(r" {0,8}(\d{1,9})(?:→|\t|: |\| )")


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines as they are shown, and what is in them without the tool's line numbers."""

    shown: list[str]
    content: list[str]
    """Empty for a line without a number in a text with numbers: the tool's own words."""
    numbers: list[int]
    """Number of each line as the tool printed it, else its place in the text, from 1."""
    is_numbered: bool
    left_out: int = 0
    """Lines in the middle of a very long text that are not looked at."""

    @property
    def gaps(self) -> Gaps:
        """Lines with numbers need no count of the missing ones."""
        return "marked" if self.is_numbered else "counted"


def read_lines(text: str) -> Lines:
    """Split a text into lines; very long lines into pieces."""
    raw, left_out = _bounded(text.split("\n"))
    pieces, places = _pieces(raw, left_out)
    sample = [line for line in raw[:_SAMPLE] if line.strip()]
    found = sum(1 for line in sample if _NUMBER.match(line))
    if not sample or found < NUMBERED_SHARE * len(sample):
        return Lines(pieces, pieces, places, is_numbered=False, left_out=left_out)
    content, numbers = [], []
    last = 0
    for line in pieces:
        match = _NUMBER.match(line)
        content.append(line[match.end() :] if match else "")
        last = int(match[1]) if match else last
        numbers.append(last)
    return Lines(pieces, content, numbers, is_numbered=True, left_out=left_out)


def _bounded(raw: list[str]) -> tuple[list[str], int]:
    if len(raw) <= LINES_MAX:
        return raw, 0
    half = LINES_MAX // 2
    return raw[:half] + raw[-half:], len(raw) - 2 * half


def _pieces(raw: list[str], left_out: int) -> tuple[list[str], list[int]]:
    """Lines of at most `LINE_CHARS_MAX` characters, and their places in the text."""
    gap_after = len(raw) // 2
    places = [index + 1 + (left_out if index >= gap_after else 0) for index in range(len(raw))]
    if max(map(len, raw)) <= LINE_CHARS_MAX:
        return raw, places
    if len(raw) + sum(map(len, raw)) // LINE_CHARS_MAX > LINES_MAX:
        return [line[:LINE_CHARS_MAX] for line in raw], places
    pieces = [
        (line[start : start + LINE_CHARS_MAX], place)
        for line, place in zip(raw, places, strict=True)
        for start in range(0, len(line) or 1, LINE_CHARS_MAX)
    ]
    return [piece for piece, _ in pieces], [place for _, place in pieces]
