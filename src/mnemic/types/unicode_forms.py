"""Unicode normalization in linear time.

`unicodedata.normalize` sorts the marks behind a letter by insertion, so a letter with 60,000 accents takes
seconds. Here a text is normalized piece by piece. Pieces begin with characters that never combine with those
before them, so the result is the same, except for a letter with more than a hundred marks.
"""

import unicodedata
from collections.abc import Iterator
from typing import Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

PIECE_MAX_CHARACTERS = 256
"""A whole piece of marks takes 50 µs to sort."""
PIECE_MIN_CHARACTERS = 128

# Letters with case, digits and spaces never combine with what precedes them, nor do these scripts.
_SAFE_CATEGORIES = frozenset({"Lu", "Ll", "Nd", "Zs"})
_SAFE_RANGES = ((0x3001, 0x3029), (0x3041, 0x3098), (0x30A0, 0x9FFF), (0xAC00, 0xD7A3))


def normalize(form: Form, text: str) -> str:
    """The text in a normal form of Unicode."""
    if text.isascii():
        return text
    if len(text) <= PIECE_MAX_CHARACTERS:
        return unicodedata.normalize(form, text)
    return "".join(unicodedata.normalize(form, piece) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > PIECE_MAX_CHARACTERS:
        limit = start + PIECE_MAX_CHARACTERS
        places = range(limit, start + PIECE_MIN_CHARACTERS, -1)
        end = next((place for place in places if _begins_a_piece(text[place])), limit)
        yield text[start:end]
        start = end
    yield text[start:]


def _begins_a_piece(character: str) -> bool:
    if character.isascii() or unicodedata.category(character) in _SAFE_CATEGORIES:
        return True
    return any(first <= ord(character) <= last for first, last in _SAFE_RANGES)
