"""Finds the lines that hold the terms of a question."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from math import log

from mnemic.context.levels.question_terms import Term

MATCHES_MAX = 3_000
"""Places of one term; a term in more places says nothing about any of them."""
WHOLE_WEIGHT = 1.5
"""A name that stands alone, and not inside a longer one."""


def match_terms(shown: list[str], terms: list[Term]) -> dict[int, float]:
    """Worth of every line with a term: rare terms count more, each term once a line."""
    text = "\n".join(shown)
    lower = text.lower()
    if len(lower) != len(text):  # Lower case may change the length ("İ"): compare as it is written.
        lower = text
    starts = [0, *accumulate(len(line) + 1 for line in shown)]
    worth: dict[int, float] = {}
    for term in terms:
        rows = _rows(term, text, lower, starts)
        rarity = log(1 + len(shown) / (len(rows) or 1))
        for row, factor in rows.items():
            worth[row] = worth.get(row, 0.0) + term.weight * rarity * factor
    return worth


def _rows(term: Term, text: str, lower: str, starts: list[int]) -> dict[int, float]:
    """Rows with the term, and 1 or more for how well it matches there."""
    rows: dict[int, float] = {}
    haystack, needle = (text, term.text) if term.is_name and term.text in text else (lower, term.text.lower())
    for place in _places(haystack, needle):
        row = bisect_right(starts, place) - 1
        factor = WHOLE_WEIGHT if _stands_alone(haystack, place, place + len(needle)) else 1.0
        rows[row] = max(rows.get(row, 0.0), factor)
    return rows


def _places(haystack: str, needle: str) -> Iterator[int]:
    place = haystack.find(needle)
    for _ in range(MATCHES_MAX):
        if place < 0:
            return
        yield place
        place = haystack.find(needle, place + len(needle))


def _stands_alone(text: str, start: int, end: int) -> bool:
    return not (start and _in_name(text[start - 1])) and not (end < len(text) and _in_name(text[end]))


def _in_name(character: str) -> bool:
    return character.isalnum() or character == "_"
