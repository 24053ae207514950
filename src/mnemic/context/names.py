"""Names in a text: identifiers, paths and hashes, which an agent may want to use again."""

import re
from collections.abc import Iterable

_NAME = re.compile(r"/[\w./-]{6,}|[A-Za-z_][A-Za-z0-9_]{6,}|[0-9a-f]{7,40}")
_PLACE = re.compile(r"-\d+-")
"""A line number after a path, as searches print it: a place, not a name."""
PLAIN_COST = 3.0
"""A plain word can be guessed again: it is worth a third of a name that cannot."""
_STRUCTURED = re.compile(r"[a-z][A-Z]|[_/\d]")


def names_of(text: str) -> tuple[str, ...]:
    """Each name once, in the order of the text."""
    return tuple(dict.fromkeys(_NAME.findall(text)))


def listed_names(names: Iterable[str], chars_max: int) -> str:
    """As many names as fit: those with the shape of code before plain words, and short ones first."""
    used, listed = 0, []
    for name in sorted((name for name in names if not _PLACE.search(name)), key=_cost):
        used += len(name) + 1
        if used > chars_max:
            break
        listed.append(name)
    return " ".join(listed)


def _cost(name: str) -> float:
    return (len(name) + 1) * (1.0 if _STRUCTURED.search(name) else PLAIN_COST)
