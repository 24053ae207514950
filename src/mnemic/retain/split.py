"""Cut a long text into chunks that give it back, byte for byte, when they are joined.

A cut is made at the last good place that still fits: behind a paragraph, else behind a sentence,
else behind a word, else anywhere, but never inside a character that is made of several code
points (a base letter and its accents, an emoji and its modifiers).
"""

import re
import unicodedata
from collections.abc import Iterator

from mnemic.types.memory import CONTENT_MAX_CHARACTERS

# A cut at less than this share of the limit would make many tiny chunks; a worse place further on is better.
SMALLEST_SHARE = 0.5
# How far back from the limit a place between two whole characters is looked for.
CHARACTER_MAX_CODE_POINTS = 64

_PLACES = (
    re.compile(r"\n[ \t\r]*\n+"),
    re.compile(r"[.!?…。！？][\"'”’)\]]*\s+|\n+"),
    re.compile(r"\s+"),
)
_ZERO_WIDTH_JOINER = "\u200d"


def split(text: str, limit: int = CONTENT_MAX_CHARACTERS) -> Iterator[str]:
    """The chunks of `text`, each of 1 to `limit` characters; together they are the text."""
    start = 0
    while len(text) - start > limit:
        end = _cut(text, start, limit)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _cut(text: str, start: int, limit: int) -> int:
    """Where the chunk that begins at `start` ends."""
    earliest, latest = start + int(limit * SMALLEST_SHARE), start + limit
    for place in _PLACES:
        ends = [match.end() for match in place.finditer(text, earliest, latest) if match.end() <= latest]
        if ends:
            return ends[-1]
    return _between_characters(text, earliest, latest)


def _between_characters(text: str, earliest: int, latest: int) -> int:
    """The last place before `latest` that does not tear a character apart, if there is one nearby."""
    for end in range(latest, max(earliest, latest - CHARACTER_MAX_CODE_POINTS, 1), -1):
        if not _continues(text[end]) and text[end - 1] != _ZERO_WIDTH_JOINER:
            return end
    return latest


def _continues(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Mc", "Me") or character in "\u200d\ufe0f🏻🏼🏽🏾🏿"
