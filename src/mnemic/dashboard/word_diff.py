"""The difference between two texts, word by word."""

import re
from difflib import SequenceMatcher
from typing import Literal

Change = Literal["same", "gone", "new"]
WORDS_MAX = 4_000
"""Above this many words the texts are shown whole, one after the other: comparing takes quadratic time."""

_PIECE = re.compile(r"\s+|\w+|[^\w\s]")


def diff_words(before: str, after: str) -> list[tuple[Change, str]]:
    """Both texts in one: what stayed, what went, what came."""
    old, new = _PIECE.findall(before), _PIECE.findall(after)
    if len(old) + len(new) > WORDS_MAX:
        return [("gone", before), ("new", after)]
    found: list[tuple[Change, str]] = []
    for operation, low, high, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if operation == "equal":
            found.append(("same", "".join(old[low:high])))
            continue
        found += [("gone", "".join(old[low:high]))] if low < high else []
        found += [("new", "".join(new[start:end]))] if start < end else []
    return found
