"""Names in a text, in the order of their worth: what a later step of an agent is likely to need.

A name is an identifier, a word or a number of seven characters or more, a hash, or a path. What agents use
again are mostly names that they cannot make up: names with capitals, underscores or digits inside, and
paths. A list of names has a budget, so a short name is worth more than a long one, a definition more than a
use, and a rare name a little more than one that repeats.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

NAME_CHARS_MIN = 7
NAME_CHARS_MAX = 160
"""Longer runs (base64, minified code) are no names."""
KEY_NAMES_MAX = 200
TEXT_CHARS_MAX = 500_000
"""Characters of a text that are searched for names: one half from its beginning, one half from its end."""

# One class and one quantifier: linear for every text.
_TOKEN = re.compile(r"[\w./~-]+")
_IDENTIFIER = re.compile(r"\w+")
_STRUCTURED = re.compile(r"[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]|\w_\w|^\d+$")

WORTH_DEFINED = 2.0
WORTH_STRUCTURED = 1.0
WORTH_PATH = 1.5
WORTH_PLAIN = 0.5
"""A plain word can be made up again; it still says what a text is about."""
RARITY = 0.15
"""Exponent: a name that occurs 100 times is worth half of one that occurs once."""


def key_names(text: str, names_max: int = KEY_NAMES_MAX) -> tuple[str, ...]:
    """The names of a text, those of the greatest worth first, each once."""
    return tuple(ranked_names(text))[:names_max]


def ranked_names(text: str, defined: Collection[str] = ()) -> list[str]:
    """All names of a text by worth; equal ones in the order of the text. `defined`: names that it defines."""
    counts = count_names(text)
    definitions = frozenset(defined)
    worths = {name: _worth(name, count, name in definitions) for name, count in counts.items()}
    return sorted(worths, key=worths.__getitem__, reverse=True)


def fit_names(names: Iterable[str], chars_max: int, shown: str = "") -> str:
    """As many names as fit, separated by spaces, without those that the text `shown` holds already."""
    present = set(count_names(shown))
    fitting, used = [], 0
    for name in names:
        if name in present or used + len(name) + 1 > chars_max:
            continue
        fitting.append(name)
        used += len(name) + 1
        if used + NAME_CHARS_MIN >= chars_max:
            break
    return " ".join(fitting)


def count_names(text: str) -> Counter[str]:
    """How often each name occurs, in the order of first occurrence."""
    names: Counter[str] = Counter()
    for token, count in Counter(_TOKEN.findall(bounded(text))).items():
        for name in _names_of(token):
            names[name] += count
    return names


def bounded(text: str) -> str:
    """The part of a text that is searched."""
    if len(text) <= TEXT_CHARS_MAX:
        return text
    return f"{text[: TEXT_CHARS_MAX // 2]}\n{text[-TEXT_CHARS_MAX // 2 :]}"


def is_structured(name: str) -> bool:
    """Whether a name has an inner structure that a reader cannot guess."""
    return "/" in name or _STRUCTURED.search(name) is not None


def is_path(token: str) -> bool:
    """Whether a token with a slash is a path, and not two words such as "read/write"."""
    if not NAME_CHARS_MIN <= len(token) <= NAME_CHARS_MAX or "/" not in token:
        return False
    return token[0] in "/.~" or token.count("/") > 1 or "." in token.rpartition("/")[2]


def _names_of(token: str) -> Iterator[str]:
    if "/" in token and is_path(path := token.rstrip("./-")):
        yield path
        return
    for name in _IDENTIFIER.findall(token):
        if NAME_CHARS_MIN <= len(name) <= NAME_CHARS_MAX and name.strip("_"):
            yield name


def _worth(name: str, count: int, is_defined: bool) -> float:
    if "/" in name:
        worth = WORTH_PATH
    elif is_structured(name):
        worth = WORTH_STRUCTURED
    else:
        worth = WORTH_PLAIN
    if is_defined:
        worth *= WORTH_DEFINED
    return worth / (len(name) + 1) / float(count**RARITY)
