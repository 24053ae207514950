"""The frame of a short statement: what it is about, without the value that it gives.

"The capital of France is Paris" has the frame "the capital of france is" and the value "Paris"; "Chanel was
founded by Coco Chanel", "Tom's manager is now Ada" and "Ana plays the position of goalkeeper" have one, too.
Two statements of one frame and different values contradict each other, so the newer one outdates the older
one, however many other memories there are. A statement gets a frame only if its grammar says that there is
one value:

- a copula after a definite subject with an attribute ("the N of …", "the N that …", "…'s N", "my N"), where N
  is no noun of which there may be several ("friend", "hobby");
- a verb or participle with its preposition that gives one value ("is located in", "works at");
- a verb that names the type of its value ("speaks the language of").

Everything else has none: several clauses, denials, the past, questions, verbs with many objects. Rules alone,
no model; English, and copulas after definite subjects in Spanish, German and French.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from mnemic.text_analysis.frame_words import (
    ADVERBS,
    ATTRIBUTE_NOUNS,
    CLAUSE_STARTS,
    CLAUSE_WORDS,
    COPULAS,
    DEFINITE,
    EVENTS,
    INDEFINITE,
    MANY_NOUNS,
    NO_FRAME_WORDS,
    NUMBER_WORDS,
    OF_WORDS,
    OWN,
    PREDICATES,
    PREPOSITIONS,
    PRESENT_COPULAS,
    SPEAKER,
    TYPED_PREDICATES,
    TYPED_VERBS,
    VERBS,
)

CERTAINTY_OF_FRAMES = 0.9
"""How sure it is that of two values of one frame only the newer one holds."""
REASON_OF_FRAMES = "It gives another value in the same words."
FRAMED_MAX_CHARACTERS = 240
"""Longer statements say more than one thing."""
VALUE_MAX_WORDS = 10
SUBJECT_MAX_WORDS = 16
TYPE_MAX_WORDS = 2
"""Words of the type in "the official language of"."""
CACHED_FRAMES = 8_192

SPEAKER_NAMES = frozenset({"I", "We"})
ValueKind = Literal["number", "name", "words"]

_WORD = re.compile(r"[^\s,;:!?()\"“”]+")
# A full stop between a small letter and a capital ends a sentence: not in "Inc. is", "K. Le Guin", "D.C.".
_NEXT_SENTENCE = re.compile(r"(?:[a-z\d][a-z]{2}|\d)[.!?;]\s+[\"“(]?[A-Z]|[?\n]|[!;:]\s")
_LIST_MARKER = re.compile(
    r"^\s{0,8}(?:[-*•]|\[?\d{1,6}[.):\]]"
    r"|(?:fact|note|update|correction|item|entry|info)(?: ?#?\d{1,6})?[:.])\s{1,8}",
    re.IGNORECASE,
)
_ABBREVIATED = re.compile(r"\b(?:Inc|Ltd|Corp|Mrs|Prof|Gen|Col|Capt|Rev|Bros|Dept|Univ|approx|Bldg)\.\s")
_POSSESSIVE = re.compile(r"['’]s?$")
_ENDS = ".,'’"


@dataclass(frozen=True, slots=True)
class Frame:
    """What a statement is about, as a key that its other values share, and the value that it gives.

    `subject` is the part of it that names whose attribute it is, in small letters; `attribute` names the
    attribute, for people.
    """

    key: str
    subject: str
    attribute: str
    value: str

    @property
    def gives_name(self) -> bool:
        """Whether the value is a name."""
        return self.value[0].isupper()

    @property
    def words(self) -> str:
        """The words that all statements of the frame have, for a lexical search."""
        return self.key.split(" (", 1)[0]

    def key_of(self, speaker: str | None) -> str:
        """The key with the speaker, where the subject is "I" or "my": two people have two managers."""
        return f"{self.key} ({speaker})" if self.key.split(" ", 1)[0] in SPEAKER else self.key

    def gives_other_value(self, other: "Frame") -> bool:
        """Whether another statement of the frame gives another value, and not only more or fewer words."""
        own, others = _folded(self.value), _folded(other.value)
        return not (own <= others or others <= own)


@lru_cache(CACHED_FRAMES)
def read_frame(text: str) -> Frame | None:
    """The frame of a short statement; None if it has none."""
    text = without_list_marker(text)
    if len(text) > FRAMED_MAX_CHARACTERS or _NEXT_SENTENCE.search(_ABBREVIATED.sub(" ", text)):
        return None
    words = tuple(stripped for word in _WORD.findall(text) if (stripped := word.strip(_ENDS)))
    if not any(word.islower() for word in words) or NO_FRAME_WORDS.search(_small_words(words)):
        return None
    return next(_frames(tuple(word for word in words if word not in ADVERBS)), None)


def without_list_marker(text: str) -> str:
    """A text without the number, the dash or the label of a list before it: "Note 3: …"."""
    return _LIST_MARKER.sub("", text)


def _small_words(words: Sequence[str]) -> str:
    """The words that are no part of names, which may contain anything: "Sense and Sensibility"."""
    return " ".join(word for place, word in enumerate(words) if not _is_in_name(words, place))


def _is_in_name(words: Sequence[str], place: int) -> bool:
    word, is_before_name = words[place], place + 1 < len(words) and words[place + 1][0].isupper()
    if place == 0:
        return word in SPEAKER_NAMES or (is_before_name and word.casefold() not in CLAUSE_STARTS)
    return word[0].isupper() or (word == "and" and is_before_name and words[place - 1][0].isupper())


def _frames(words: Sequence[str]) -> Iterator[Frame]:
    copulas = [place for place, word in enumerate(words) if word in COPULAS]
    if copulas and 0 < copulas[-1] <= SUBJECT_MAX_WORDS:
        subject, rest = words[: copulas[-1]], words[copulas[-1] + 1 :]
        yield from _after_predicate(subject, words[copulas[-1]], rest)
        yield from _after_copula(subject, words[copulas[-1]], rest)
    elif not copulas:
        yield from _after_verb(words)


def _after_copula(subject: Sequence[str], copula: str, value: Sequence[str]) -> Iterator[Frame]:
    """ "The capital of France is Paris", "Tom's manager is Ada", "My password is swordfish"."""
    noun, of = _attribute_noun(subject)
    if noun is None or not value or noun in MANY_NOUNS or copula not in PRESENT_COPULAS:
        return
    place = [value[0]] if value[0] in PREPOSITIONS else []
    value = value[len(place) :]
    is_known = noun in ATTRIBUTE_NOUNS or "favourite" in subject or "favorite" in subject
    is_own = subject[0].casefold() not in DEFINITE
    kind = _kind(value)
    if kind is None or (not is_known and (is_own or kind == "words")):
        return
    key = [*subject, copula, *place]
    yield _frame(key, of, noun, value, kind if place or not is_known else None)


def _attribute_noun(subject: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """The noun of a definite subject and whose attribute it names: "capital" and X in "the capital of X"."""
    first = subject[0].casefold()
    if first in DEFINITE:
        ends = [place for place, word in enumerate(subject) if word in OF_WORDS | CLAUSE_WORDS | PREPOSITIONS]
        if ends and 1 < ends[0] < len(subject) - 1:
            return subject[ends[0] - 1].casefold(), subject[ends[0] + 1 :]
    owners = [
        place for place, word in enumerate(subject) if _POSSESSIVE.search(word) or word.casefold() in OWN
    ]
    if owners and owners[-1] < len(subject) - 1 and not subject[-1][0].isupper():
        return subject[-1].casefold(), subject[: owners[-1] + 1]
    return None, ()


def _after_predicate(subject: Sequence[str], copula: str, rest: Sequence[str]) -> Iterator[Frame]:
    """ "X is located in the city of Y", "X was founded by Y", "X is a citizen of Y"."""
    article = 1 if rest and rest[0] in INDEFINITE | DEFINITE else 0
    if len(rest) < article + 3 or (
        (rest[article], rest[article + 1]) not in PREDICATES and (rest[article] not in TYPED_PREDICATES)
    ):
        return
    is_state = rest[article] not in EVENTS
    if bool(article) != (rest[article + 1] == "of") or (is_state and copula not in PRESENT_COPULAS):
        return
    yield from _before_value([*subject, copula], rest, article + 2, rest[article] in TYPED_PREDICATES)


def _after_verb(words: Sequence[str]) -> Iterator[Frame]:
    """ "Tom works at Acme", "Ana plays the position of goalkeeper"."""
    for place, verb in enumerate(words[: SUBJECT_MAX_WORDS + 1]):
        if not place or place + 1 >= len(words):
            continue
        subject, rest = words[:place], words[place:]
        if (verb, rest[1]) in VERBS:
            yield from _before_value(subject, rest, 2, needs_type=False)
        elif verb in TYPED_VERBS:
            yield from _before_value(subject, rest, 1 + (rest[1] in PREPOSITIONS), needs_type=True)
        elif (verb, "") in VERBS:
            yield from _before_value(subject, rest, 1, needs_type=False)


def _before_value(
    subject: Sequence[str], rest: Sequence[str], start: int, needs_type: bool
) -> Iterator[Frame]:
    """The frame up to the value, which begins at `start`, or after the type that is named there."""
    end = _type_end(rest, start)
    if (end == start and needs_type) or not _is_specific(subject):
        return
    value = rest[end:]
    kind = _kind(value)
    if kind is not None:
        verb = subject[-1] in COPULAS
        of, predicate = subject[: len(subject) - verb], rest[:end]
        yield _frame([*subject, *predicate], of, " ".join(predicate), value, kind if end == start else None)


def _is_specific(subject: Sequence[str]) -> bool:
    """Whether a subject is meant whenever these words are used: "the meeting" is not."""
    if subject[0].casefold() in DEFINITE:
        return any(word in OF_WORDS or word[0].isupper() for word in subject[1:])
    return subject[0].casefold() not in CLAUSE_WORDS


def _type_end(rest: Sequence[str], start: int) -> int:
    """Where "the city of" ends that begins at `start`; `start` if there is none."""
    if start < len(rest) and rest[start] == "the":
        for place in range(start + 2, min(start + 2 + TYPE_MAX_WORDS, len(rest) - 1)):
            if rest[place] == "of":
                return place + 1
    return start


def _kind(value: Sequence[str]) -> ValueKind | None:
    """The kind of a value: a number or date, a name, or words; None if it is no value."""
    if not 1 <= len(value) <= VALUE_MAX_WORDS or value[0] in CLAUSE_WORDS or value[0] in INDEFINITE:
        return None
    if any(word in COPULAS or word in PREPOSITIONS - {"of"} for word in value if word.islower()) and not (
        value[0][0].isupper()
    ):
        return None
    if all(_is_number_word(word) for word in value):
        return "number"
    named = value[1] if value[0] in DEFINITE and len(value) > 1 else value[0]
    return "name" if named[0].isupper() or named[0].isdigit() else "words"


def _is_number_word(word: str) -> bool:
    return any(map(str.isdigit, word)) or word.casefold() in NUMBER_WORDS


def _frame(
    key: Sequence[str], subject: Sequence[str], attribute: str, value: Sequence[str], kind: ValueKind | None
) -> Frame:
    """`kind` separates values that can both hold, "born in London" and "born in 1980"; None if none can."""
    folded = " ".join(word.casefold().replace("’", "'") for word in key)
    owner = " ".join(_POSSESSIVE.sub("", word.casefold()) for word in subject)
    return Frame(f"{folded} ({kind})" if kind else folded, owner, attribute, " ".join(value))


def _folded(value: str) -> frozenset[str]:
    return frozenset(value.casefold().split()) - DEFINITE
