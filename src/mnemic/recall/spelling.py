"""Typing errors in a query: a word that nobody knows is replaced by a near one.

A word is suspect if it has `LETTERS_MIN` letters or more, no digit, and is not among the some 20,000 common
words that the tokenizer of the local model brings along. Only a suspect word that no memory of the
owner has is
corrected: to a word of the owner's memories, or to a common word that these lack, whichever costs less
(`_Costs`). One edit is allowed in a word of up to 7 letters, two in a longer one. Numbers, codes and
abbreviations are never corrected, and a name (a capital inside of the query) only to a word of the memories.

Memories are indexed by stems ("paint"), but people misspell whole words ("paintnigs"). So stems that
are near to the
beginning of the word are compared with all usual endings attached.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from mnemic.models.wordpiece import common_words
from mnemic.recall.edit_distance import WORD_MAX_LETTERS, WordMatrix, edit_cost
from mnemic.recall.query_analysis import QueryAnalysis

LETTERS_MIN = 4
LETTERS_LONG = 8
"""Words of this length or more may have two errors."""
SUSPECTS_MAX = 8
"""Words of a query that are looked at; a query has one or two typing errors."""
STEMS_MAX = 200
"""Stems whose forms are compared, for each word."""
ENDING_MAX_LETTERS = 6
DOUBLING_MAX_LETTERS = 5
"""Stems up to this length double their last letter: run, running."""
NEAR_ENDINGS_CACHED = 1_024
PART_MIN_LETTERS = 4
"""The shorter part of a word that is split in two, unless it is one of `_SHORT_PARTS`."""

_INFLECTIONS = ("", *["s", "es", "ed", "er", "ers", "ing", "ings", "ly"])
_ENDINGS_TEXT = """
e y ies ion ions ation ations ate ated al ally ic ity ities ment ments ness ful ous ive ance ence ent able ist
ists ian ians ism
"""
_ENDINGS = (*_INFLECTIONS, *_ENDINGS_TEXT.split())
_LAST_PARTS = frozenset((*_ENDINGS, *["dom", "hood", "less", "like", "ship", "ships", "ward", "wise"]))
"""What makes one word with the part before it: friendship."""
_SHORT_PARTS = frozenset(["and", "did", "does", "how", "is", "my", "of", "our", "the", "was", "what", "who"])
_TOKEN = re.compile(r"\S+")
_EDGE = re.compile(r"^\W+|(?:['’]s)?\W*$")
_IDEOGRAPHS_FROM = "\N{CJK RADICAL REPEAT}"


@dataclass(frozen=True)
class Suspect:
    """A word of a query, in lower case, that may be misspelt."""

    word: str
    is_name: bool


@dataclass(frozen=True)
class Correction:
    """What a word of the query is taken for. `is_known` says that the owner's memories have it."""

    word: str
    replacement: str
    is_known: bool

    def __str__(self) -> str:
        """For `explain`: ``supervsior → supervisor``."""
        return f"{self.word} → {self.replacement}"


@dataclass(frozen=True)
class _Costs:
    """What makes one replacement likelier than another, in edits."""

    swapped: float = 0.8
    doubled: float = 0.7
    first_letter: float = 0.4
    made_up_form: float = 0.25
    last_letter: float = 0.1
    not_in_memories: float = 0.4
    rare: float = 0.2
    short_max: float = 1.6
    long_max: float = 2.3


_COSTS = _Costs()


def suspects_in(text: str) -> tuple[Suspect, ...]:
    """The words of a query that are neither common words nor codes, each once, in order."""
    found: dict[str, Suspect] = {}
    is_shouted = text.isupper()
    for place, token in enumerate(_TOKEN.findall(text)):
        word = _EDGE.sub("", token)
        if not _is_plain(word) or (word.isupper() and not is_shouted):
            continue
        lowered = word.lower()
        if lowered not in _common_ranks():
            is_name = place > 0 and word[0].isupper() and not is_shouted
            found.setdefault(lowered, Suspect(lowered, is_name))
    return tuple(found.values())[:SUSPECTS_MAX]


def _is_plain(word: str) -> bool:
    return LETTERS_MIN <= len(word) < WORD_MAX_LETTERS and word.isalpha() and max(word) < _IDEOGRAPHS_FROM


def stem_lengths(suspects: Sequence[Suspect]) -> tuple[int, int]:
    """The least and the greatest length of the indexed words that `Vocabulary` needs for these suspects."""
    lengths = [len(suspect.word) for suspect in suspects]
    return max(min(lengths) - ENDING_MAX_LETTERS - 2, LETTERS_MIN - 1), max(lengths) + 2


class Vocabulary:
    """The indexed words of an owner, the most frequent first, and the common words."""

    def __init__(self, stems: Sequence[str], *, with_common_words: bool) -> None:
        self._stems = WordMatrix.of([form for stem in stems if stem.isalpha() for form in _written(stem)])
        self._ranks = {stem: rank for rank, stem in enumerate(self._stems.words)}
        self._with_common_words = with_common_words

    def corrections(self, suspects: Sequence[Suspect]) -> tuple[Correction, ...]:
        """The corrections of those suspects that are near to a word, or two words without the space."""
        found = (self._correction(suspect) or self._split(suspect) for suspect in suspects)
        return tuple(correction for correction in found if correction is not None)

    def _correction(self, suspect: Suspect) -> Correction | None:
        candidates = self._candidates(suspect)
        if suspect.word in candidates:
            return None  # A form of a known word.
        costs = {word: prior + _edit_cost(suspect.word, word) for word, prior in candidates.items()}
        best = min(costs, key=lambda word: (costs[word], word), default=None)
        if best is None or costs[best] > (_COSTS.short_max if _is_short(suspect.word) else _COSTS.long_max):
            return None
        return Correction(suspect.word, best, is_known=candidates[best] < _COSTS.not_in_memories)

    def _candidates(self, suspect: Suspect) -> dict[str, float]:
        """Near words, with what they cost besides the edits."""
        word, edits_max = suspect.word, 1 if _is_short(suspect.word) else 2
        found: dict[str, float] = {}
        if self._with_common_words and not suspect.is_name:
            for near in _common_matrix().near(word, edits_max):
                found[near] = self._prior(near)
        stems = self._stems.near_beginnings(word, ENDING_MAX_LETTERS, edits_max)[:STEMS_MAX]
        for stem, distances in stems:
            for form in _near_forms(stem, word, distances, edits_max):
                if form == word and word[len(stem) :] not in _INFLECTIONS:
                    continue  # "realy" is not a form of "real".
                is_word = form == stem or form in _common_ranks()
                prior = self._rarity(stem) + (0.0 if is_word else _COSTS.made_up_form)
                found[form] = min(prior, found.get(form, prior))
        return found

    def _prior(self, common: str) -> float:
        """What a common word costs; less if the memories have it."""
        stem = self._stem(common)
        if stem is not None:
            return self._rarity(stem)
        return _COSTS.not_in_memories + _COSTS.rare * _common_ranks()[common] / len(_common_ranks())

    def _rarity(self, stem: str) -> float:
        return _COSTS.rare * self._ranks[stem] / len(self._ranks)

    def _split(self, suspect: Suspect) -> Correction | None:
        """The first of the ways to split a word in two that the memories have or that are common."""
        word = suspect.word
        for end in range(1, len(word)):
            first, second = word[:end], word[end:]
            if not suspect.is_name and second not in _LAST_PARTS and self._are_words(first, second):
                return Correction(word, f"{first} {second}", is_known=True)
        return None

    def _are_words(self, first: str, second: str) -> bool:
        """Whether both are words and the memories have the longer one."""
        parts = sorted((first, second), key=len)
        is_short = parts[0] in _SHORT_PARTS
        if not is_short and len(parts[0]) < PART_MIN_LETTERS:
            return False
        return (
            (is_short or parts[0] in _common_ranks())
            and len(parts[1]) >= PART_MIN_LETTERS
            and self._has(parts[1])
        )

    def _has(self, word: str) -> bool:
        """Whether the memories have a common word, or a rare one as it is."""
        return word in self._ranks or (word in _common_ranks() and self._stem(word) is not None)

    def _stem(self, word: str) -> str | None:
        """The indexed word that a word is probably indexed as, if the memories have it."""
        possible = (stem for ending in _ENDINGS if word.endswith(ending) for stem in _stems_of(word, ending))
        return next((stem for stem in possible if stem in self._ranks), None)


def corrected(text: str, corrections: Sequence[Correction]) -> str:
    """The text with the corrections made; a capital stays one."""
    for correction in corrections:
        pattern = re.compile(rf"\b{re.escape(correction.word)}\b", re.IGNORECASE)
        text = pattern.sub(lambda found, to=correction.replacement: _like(found[0], to), text)  # type: ignore[misc]
    return text


def with_corrected_words(analysis: QueryAnalysis, corrections: Sequence[Correction]) -> QueryAnalysis:
    """The analysis of a query that also mentions the corrected words, such as names of speakers."""
    if not corrections:
        return analysis
    words = (word for correction in corrections for word in correction.replacement.casefold().split())
    return replace(analysis, casefolded_words=analysis.casefolded_words.union(words))


def _like(word: str, replacement: str) -> str:
    return replacement[0].upper() + replacement[1:] if word[0].isupper() else replacement


def _edit_cost(typed: str, meant: str) -> float:
    cost = edit_cost(typed, meant, _COSTS.swapped, _COSTS.doubled)
    cost += _COSTS.first_letter if typed[0] != meant[0] else 0.0
    return cost + (_COSTS.last_letter if typed[-1] != meant[-1] else 0.0)


def _written(stem: str) -> tuple[str, ...]:
    """A stem, and what it is the stem of: the English stem of "family" is "famili"."""
    return (stem, f"{stem[:-1]}y") if stem.endswith("i") else (stem,)


def _is_short(word: str) -> bool:
    return len(word) < LETTERS_LONG


def _near_forms(stem: str, word: str, distances: Sequence[int], edits_max: int) -> Iterator[str]:
    """Those forms of a stem that may be within the distance of a word.

    `distances` are those of the stem from the last beginnings of the word.
    """
    for place, distance in enumerate(distances):
        if distance > edits_max:
            continue
        rest = word[len(word) - len(distances) + 1 + place :]
        for ending in _near_endings(rest, edits_max - distance):
            yield stem + ending
        if rest[1:] in ("ed", "ing", "er") and len(stem) <= DOUBLING_MAX_LETTERS and rest[0] == stem[-1]:
            yield stem + rest


@lru_cache(NEAR_ENDINGS_CACHED)
def _near_endings(rest: str, edits_max: int) -> tuple[str, ...]:
    """The endings within the distance of the end of a word."""
    if edits_max == 0:
        return (rest,) if rest in _ENDINGS else ()
    return tuple(ending for ending in _ENDINGS if edit_cost(rest, ending, 1.0, 1.0) <= edits_max)


def _stems_of(word: str, ending: str) -> tuple[str, ...]:
    stem = word[: len(word) - len(ending)]
    return (stem, f"{stem[:-1]}i") if stem.endswith("y") else (stem,)


@cache
def _common_ranks() -> dict[str, int]:
    """Common words, with their rank by frequency."""
    return {word: rank for rank, word in enumerate(common_words())}


@cache
def _common_matrix() -> WordMatrix:
    return WordMatrix.of([word for word in common_words() if len(word) >= LETTERS_MIN - 1])
