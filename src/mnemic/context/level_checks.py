"""Checks of levels that a language model has written: every name and number in them is in the full text.

A name is a word with a capital letter, a digit or an underscore, a word in letters that have no capitals, a
path or another word with dots, slashes or colons inside, and everything in backticks. Plain words in small
letters are no names. The instructions ask the model to begin sentences in small letters, so that a capital
is a sign; of words that only grammar needs it is not one.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from mnemic.text_analysis.instructions import overrides_instructions
from mnemic.text_analysis.statement_words import STATEMENT_STOPWORDS

DropReason = Literal["empty", "too long", "unsupported name", "unsupported number", "instruction", "failed"]

_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"\w+(?:[./\\:@$#-]+\w+)*")
_QUOTED = re.compile(r"`([^`\n]+)`")
_JOINED = re.compile(r"[./\\:@$#]")
"""Characters inside a token that make it a path, a number, an address: only the whole is the name."""


class SourceWords:
    """The words of a full text, for looking up names."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded = text.casefold()
        self._words = frozenset(_WORD.findall(self._folded))

    def has_quotation(self, quotation: str) -> bool:
        """Whether the text holds exactly this."""
        return quotation in self._text

    def has(self, name: str) -> bool:
        """Whether the text holds this name, as whole words; an "s" may follow it."""
        folded = name.casefold()
        if _WORD.fullmatch(folded):
            return folded in self._words or folded.removesuffix("s") in self._words
        return re.search(rf"(?<!\w){re.escape(folded)}(?!\w)", self._folded) is not None


def why_dropped(written: Sequence[str], source: SourceWords) -> DropReason | None:
    """Why texts of a model cannot stand for a source; None if they can."""
    for text in written:
        if not all(source.has_quotation(found[1]) for found in _QUOTED.finditer(text)):
            return "unsupported name"
        for name in sorted(set(names_and_numbers(text))):
            if not source.has(name):
                return "unsupported number" if name[0].isdigit() else "unsupported name"
        # The agent reads a level as part of its prompt: it may describe demands, and makes none.
        if any(map(overrides_instructions, text.splitlines(keepends=True))):
            return "instruction"
    return None


def names_and_numbers(text: str) -> Iterator[str]:
    """What must occur in the source."""
    for found in _TOKEN.finditer(text):
        token = found[0]
        if _JOINED.search(token):
            yield token
        else:
            yield from (word for word in _WORD.findall(token) if _is_name(word))


def _is_name(word: str) -> bool:
    if word.isalpha() and all(map(str.islower, word)):
        return False
    is_capitalized = word.isalpha() and all(map(str.islower, word[1:]))
    return not (is_capitalized and word.casefold() in STATEMENT_STOPWORDS)
