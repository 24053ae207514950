"""Marks the words of a search in a text."""

import re
from collections.abc import Iterable

ENDINGS = ("ingly", "edly", "ies", "ing", "ed", "es", "ly", "s", "y", "e")
"""English endings that the text index ignores."""
ENDING_MAX_CHARACTERS = 3
"""A word with more letters behind a stem is probably another word: mara, marathon."""
STEM_MIN_CHARACTERS = 3
TEXT_MAX_CHARACTERS = 600
"""How much of a text a list shows; the page of a memory shows all of it."""

_WORD = re.compile(r"\w+")


def highlighted(
    text: str, words: Iterable[str], *, max_characters: int = TEXT_MAX_CHARACTERS
) -> list[tuple[bool, str]]:
    """The text in pieces, each with whether it is a form of a searched word.

    A searched word that ends in an asterisk stands for all words that begin so. A text of more than
    `max_characters` is cut.
    """
    text = text if len(text) <= max_characters else f"{text[:max_characters]}…"
    prefixes: set[str] = set()
    stems: set[str] = set()
    for given in words:
        folded = [word.casefold() for word in _WORD.findall(given)]
        (prefixes if given.endswith("*") else stems).update(folded)
    wanted = {stem_of(word) for word in stems}
    pieces: list[tuple[bool, str]] = []
    at = 0
    for found in _WORD.finditer(text) if wanted or prefixes else ():
        if _is_form(found.group().casefold(), wanted, tuple(prefixes)):
            pieces += [(False, text[at : found.start()]), (True, found.group())]
            at = found.end()
    return [piece for piece in (*pieces, (False, text[at:])) if piece[1]]


def stem_of(word: str) -> str:
    """The beginning that forms of a word share, roughly as the text index sees it."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= STEM_MIN_CHARACTERS:
            return word.removesuffix(ending)
    return word


def _is_form(word: str, stems: set[str], prefixes: tuple[str, ...]) -> bool:
    if word.startswith(prefixes) if prefixes else False:
        return True
    return any(word[: len(word) - cut] in stems for cut in range(min(ENDING_MAX_CHARACTERS + 1, len(word))))
