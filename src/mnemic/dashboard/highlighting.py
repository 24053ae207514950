"""Marks the words of a search in a text."""

import re
from collections.abc import Iterable

ENDINGS = ("ingly", "edly", "ies", "ing", "ed", "es", "ly", "s", "y", "e")
"""English endings that the text index ignores."""
STEM_MIN_CHARACTERS = 3

_WORD = re.compile(r"\w+")


def highlighted(text: str, words: Iterable[str]) -> list[tuple[bool, str]]:
    """The text in pieces, each with whether it is a word that begins like one of the searched words."""
    stems = tuple({stem_of(word) for given in words for word in _WORD.findall(given.casefold())})
    if not stems:
        return [(False, text)]
    pieces: list[tuple[bool, str]] = []
    at = 0
    for found in _WORD.finditer(text):
        if found.group().casefold().startswith(stems):
            pieces += [(False, text[at : found.start()]), (True, found.group())]
            at = found.end()
    return [piece for piece in (*pieces, (False, text[at:])) if piece[1]]


def stem_of(word: str) -> str:
    """The beginning that forms of a word share, roughly as the text index sees it."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= STEM_MIN_CHARACTERS:
            return word.removesuffix(ending)
    return word
