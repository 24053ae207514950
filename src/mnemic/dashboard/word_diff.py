"""The difference between two texts, word by word, for a page that shows many of them."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Literal

Change = Literal["same", "gone", "new"]
COMPARISONS_MAX = 100_000
"""Pairs of pieces that are compared, in about 10 ms: the time is quadratic, and other requests wait."""
SHOWN_MAX_CHARACTERS = 1_000
"""How much is shown of what stayed, of what went and of what came; the pages of memories show them whole."""
SAME_MAX_CHARACTERS = 400
"""A longer stretch that stayed is shown by its two ends."""

_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?\s]*|[.!?\s]+")


def diff_words(before: str, after: str) -> list[tuple[Change, str]]:
    """Both texts in one, shortened: what stayed, what went, what came.

    Texts with too many different words are compared by sentences; if these are too many, not at all.
    """
    for pieces in (_WORD, _SENTENCE):
        found = _compared(pieces.findall(before), pieces.findall(after))
        if found is not None:
            return _shortened(found)
    return _shortened([("gone", before), ("new", after)])


def _compared(old: list[str], new: list[str]) -> list[tuple[Change, str]] | None:
    """The difference of two lists of pieces; None if it costs too much."""
    start = _equal_count(old, new)
    end = _equal_count(reversed(old[start:]), reversed(new[start:]))
    first, last = old[:start], old[len(old) - end :]
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if len(old) * len(new) > COMPARISONS_MAX:
        return None
    found: list[tuple[Change, str]] = [("same", "".join(first))]
    for operation, low, high, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if operation == "equal":
            found.append(("same", "".join(old[low:high])))
        else:
            found += [("gone", "".join(old[low:high])), ("new", "".join(new[start:end]))]
    return [each for each in (*found, ("same", "".join(last))) if each[1]]


def _equal_count(old: Iterable[str], new: Iterable[str]) -> int:
    """How many pieces are equal at the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _shortened(changes: list[tuple[Change, str]]) -> list[tuple[Change, str]]:
    """The changes up to the limits, one for each kind, so that what went does not hide what came."""
    left = {"same": SHOWN_MAX_CHARACTERS, "gone": SHOWN_MAX_CHARACTERS, "new": SHOWN_MAX_CHARACTERS}
    found: list[tuple[Change, str]] = []
    for change, text in changes:
        shown = text
        if change == "same" and len(text) > SAME_MAX_CHARACTERS:
            shown = f"{text[: SAME_MAX_CHARACTERS // 2]} … {text[-SAME_MAX_CHARACTERS // 2 :]}"
        if left[change] <= 0:
            continue
        found.append((change, shown if len(shown) <= left[change] else f"{shown[: left[change]]}…"))
        left[change] -= len(shown)
    return found
