"""Split a long text into chunks; joined, they are the text again, byte for byte.

A chunk ends after the last paragraph that fits, else after the last sentence, else after the last word, else
anywhere, but never inside a character of several code points (a base letter and its accents, an emoji and its
modifiers).
"""

import re
import unicodedata
from collections.abc import Iterator

from mnemic.types.memory import CONTENT_MAX_CHARACTERS

# A chunk has at least this share of the limit: a worse boundary is better than many tiny chunks.
SMALLEST_SHARE = 0.5
# How far before the limit to look for a boundary between two characters.
CHARACTER_MAX_CODE_POINTS = 64

_BOUNDARIES = (
    re.compile(r"\n[ \t\r]*\n+"),
    re.compile(r"[.!?…。！？][\"'”’)\]]*\s+|\n+"),
    re.compile(r"\s+"),
)
_ZERO_WIDTH_JOINER = "\u200d"


def split(text: str, limit: int = CONTENT_MAX_CHARACTERS) -> Iterator[str]:
    """Yield the chunks of `text`, each of 1 to `limit` characters."""
    start = 0
    while len(text) - start > limit:
        end = _chunk_end(text, start, limit)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _chunk_end(text: str, start: int, limit: int) -> int:
    """Where the chunk that begins at `start` ends."""
    earliest, latest = start + int(limit * SMALLEST_SHARE), start + limit
    for boundary in _BOUNDARIES:
        ends = [match.end() for match in boundary.finditer(text, earliest, latest) if match.end() <= latest]
        if ends:
            return ends[-1]
    return _character_boundary(text, earliest, latest)


def _character_boundary(text: str, earliest: int, latest: int) -> int:
    """The last position up to `latest` that splits no character, or `latest` if none is near."""
    for end in range(latest, max(earliest, latest - CHARACTER_MAX_CODE_POINTS, 1), -1):
        if not _continues(text[end]) and text[end - 1] != _ZERO_WIDTH_JOINER:
            return end
    return latest


def _continues(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Mc", "Me") or character in "\u200d\ufe0f🏻🏼🏽🏾🏿"
