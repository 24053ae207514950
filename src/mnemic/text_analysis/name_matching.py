"""Match known names in texts, as whole words.

Texts and names are split into words without spaces and punctuation: `O’Brien's` is `O`, `Brien`, `s`, so
the name `O'Brien` is found in it. Signs that distinguish names are kept: `@ada`, `C++`, `C#`. In scripts
without spaces between words, and for emoji, each character is a word. Matching ignores case, except for
names that are everyday words: `May` is not found in `you may`.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

EntityId = TypeVar("EntityId")

# Short enough for an index entry, also in scripts of four bytes a character.
LOOKUP_MAX_CHARACTERS = 64

# Characters that are words by themselves: Thai and Lao, Burmese, Khmer, kana, Han, Hangul; emoji.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_EMOJI = r"\u2190-\u2bff\U0001f000-\U0001faff"
# Characters between words: spaces, punctuation, symbols, invisible characters.
_BETWEEN = (
    r"\s!-/:-@\[-\^`{-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\xd7\xf7\u055a-\u055f\u0589\u058a\u05be\u05c0\u05c3"
    r"\u05f3\u05f4\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965\u2000-\u218f\u2e00-\u2e7f"
    r"\u3000-\u3004\u3008-\u3040\ufe00-\ufe6f\ufff0-\uffff"
)
_WORD = re.compile(
    rf"(?:(?<!\w)@)?[^{_BETWEEN}{_UNSPACED}{_EMOJI}]+(?:(?:\+\+|\#)(?!\w))?|[{_UNSPACED}{_EMOJI}]"
)
_FORMS: tuple[Literal["NFC"], Literal["NFD"]] = ("NFC", "NFD")
_UNSPACED_WORD = re.compile(f"[{_UNSPACED}{_EMOJI}]")

# The stop words of PostgreSQL's English text search configuration.
_UNINDEXED_TEXT = """
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers
herself it its itself they them their theirs themselves what which who whom this that these those am is are
was were be been being have has had having do does did doing a an the and but if or because as until while
of at by for with about against between into through during before after above below to from up down in out
on off over under again further then once here there when where why how all any both each few more most
other some such no nor not only own same so than too very s t can will just don should now
"""
# More words that are names only if they are capitalised like one.
_EVERYDAY_TEXT = """
us one two may might must could would shall also yes ok hi hey hello thanks please let get got go went make
made see say said like want need know think good well new old still even much many every never always often
maybe perhaps mark bill rose grace hope joy faith art dawn rich frank grant chase drew jack pat sunny summer
autumn spring winter march april june august hunter page book apple orange target shell gap
"""
UNINDEXED_WORDS = frozenset(_UNINDEXED_TEXT.split())
EVERYDAY_WORDS = UNINDEXED_WORDS | frozenset(_EVERYDAY_TEXT.split())


def split_words(text: str) -> list[str]:
    """The words of a text, in order and with their case."""
    return _WORD.findall(text if text.isascii() else unicodedata.normalize("NFKC", text))


def first_word(name: str) -> str | None:
    """The lookup key of a name, or None if it has no word."""
    words = split_words(name)
    return lookup_key(words[0]) if words else None


def lookup_key(word: str) -> str:
    """The key under which names that begin with this word are stored."""
    return word.casefold()[:LOOKUP_MAX_CHARACTERS]


def is_found_by_text_search(name: str) -> bool:
    """Whether PostgreSQL's English text search can find the name."""
    words = [word.casefold() for word in split_words(name)]
    return not any(map(_UNSPACED_WORD.match, words)) and not UNINDEXED_WORDS.issuperset(words)


def spelling_variants(name: str) -> set[str]:
    """Spellings of a name that this module treats as equal and PostgreSQL does not."""
    apostrophes = name, name.replace("’", "'"), name.replace("'", "’")
    return {unicodedata.normalize(form, spelling) for spelling in apostrophes for form in _FORMS}


@dataclass(frozen=True)
class _KnownName(Generic[EntityId]):
    """A name to search for; `written` is set if its case matters."""

    folded: tuple[str, ...]
    written: tuple[str, ...] | None
    entity_id: EntityId


class NameMatcher(Generic[EntityId]):
    """Finds known names in texts. Several entities may have the same name."""

    def __init__(self, names: Iterable[tuple[str, EntityId]]) -> None:
        self._by_first_word: dict[str, list[_KnownName[EntityId]]] = defaultdict(list)
        for name, entity_id in names:
            words = tuple(split_words(name))
            if words:
                folded = tuple(word.casefold() for word in words)
                known = _KnownName(folded, words if EVERYDAY_WORDS.issuperset(folded) else None, entity_id)
                self._by_first_word[folded[0]].append(known)
        for same_start in self._by_first_word.values():
            same_start.sort(key=lambda known: -len(known.folded))

    def find(self, words: Sequence[str]) -> set[EntityId]:
        """The entities named in these words. If names overlap, the first and longest one counts."""
        folded = [word.casefold() for word in words]
        found = set[EntityId]()
        index = 0
        while index < len(words):
            length = 1
            for known in self._at(words, folded, index):
                found.add(known.entity_id)
                length = len(known.folded)
            index += length
        return found

    def _at(self, words: Sequence[str], folded: list[str], index: int) -> Iterator[_KnownName[EntityId]]:
        """The longest names that begin at this index."""
        longest = 0
        for known in self._by_first_word.get(folded[index], ()):
            end = index + len(known.folded)
            if len(known.folded) < longest:
                return
            if tuple(folded[index:end]) == known.folded and (
                known.written is None or tuple(words[index:end]) == known.written
            ):
                longest = len(known.folded)
                yield known
