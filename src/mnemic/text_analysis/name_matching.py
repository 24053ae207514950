"""Match known names in texts, as whole words.

Texts and names are split into words without spaces and punctuation: `O’Brien's` is `O`, `Brien`, `s`, so
the name `O'Brien` is found in it. Signs that distinguish names are kept: `@ada`, `C++`, `C#`. In scripts
without spaces between words, and for emoji, each character is a word. Matching ignores case, except for
names that are everyday words: `May` is not found in `you may`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from mnemic.types.unicode_forms import normalize

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
    return _WORD.findall(normalize("NFKC", text))


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
    return {normalize(form, spelling) for spelling in apostrophes for form in _FORMS}


@dataclass(slots=True)
class _Node(Generic[EntityId]):
    """The names that consist of the words on the way here, and the next words of longer ones.

    `entities` have such a name in any case of letters, `entities_by_spelling` as it is written.
    """

    following: "dict[str, _Node[EntityId]]" = field(default_factory=dict)
    entities: set[EntityId] = field(default_factory=set)
    entities_by_spelling: dict[tuple[str, ...], set[EntityId]] = field(default_factory=dict)


class NameMatcher(Generic[EntityId]):
    """Finds known names in texts. Several entities may have the same name.

    The names are a tree of their words, so that many names with the same beginning take no longer.
    """

    def __init__(self, names: Iterable[tuple[str, EntityId]]) -> None:
        self._root: _Node[EntityId] = _Node()
        for name, entity_id in names:
            words = tuple(split_words(name))
            if words:
                self._add(words, entity_id)

    def _add(self, words: tuple[str, ...], entity_id: EntityId) -> None:
        node = self._root
        folded = [word.casefold() for word in words]
        for word in folded:
            node = node.following.setdefault(word, _Node())
        if EVERYDAY_WORDS.issuperset(folded):
            node.entities_by_spelling.setdefault(words, set()).add(entity_id)
        else:
            node.entities.add(entity_id)

    def find(self, words: Sequence[str]) -> set[EntityId]:
        """The entities named in these words. If names overlap, the first and longest one counts."""
        folded = [word.casefold() for word in words]
        # By identity, so that a name that many entities have is collected once, however often it occurs.
        named: dict[int, set[EntityId]] = {}
        index = 0
        while index < len(words):
            length, entities = self._longest_at(words, folded, index)
            named |= {id(each): each for each in entities}
            index += max(1, length)
        return set[EntityId]().union(*named.values())

    def _longest_at(
        self, words: Sequence[str], folded: Sequence[str], index: int
    ) -> tuple[int, list[set[EntityId]]]:
        """The length of the longest name that begins at this index, and the entities that have it."""
        length, entities = 0, list[set[EntityId]]()
        node = self._root.following.get(folded[index])
        end = index
        while node is not None:
            end += 1
            if named := _named(node, words, index, end):
                length, entities = end - index, named
            node = node.following.get(folded[end]) if end < len(folded) else None
        return length, entities


def _named(node: _Node[EntityId], words: Sequence[str], start: int, end: int) -> list[set[EntityId]]:
    """The entities whose name ends at this node."""
    named = [node.entities] if node.entities else []
    if node.entities_by_spelling:
        as_written = node.entities_by_spelling.get(tuple(words[start:end]))
        named += [as_written] if as_written is not None else []
    return named
