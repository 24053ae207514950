"""The frame of a short statement: what it is about, without the value that it gives.

"The capital of France is Paris" has the frame "france · capital" and the value "Paris"; "Chanel was founded
by Coco Chanel", "Tom's manager is now Ada" and "Ana plays the position of goalkeeper" have one, too. Two
statements of one frame and different values contradict each other, so the newer one outdates the older one,
however many other memories there are.

Subject, relation and value come from the structure of a statement (`clauses`). What the relation is called
comes from the rules that extraction reads by (`predicates`), so that "Ana lives in Bath" and "Ana resides in
Oslo" share a frame; and so does which attributes have one value (`attribute_names`). A statement that the
structure says nothing about ("I moved to Oslo") has the frame of what extraction reads in it.

Everything else has none: several clauses, denials, the past, questions, verbs with many objects. Rules alone,
no model.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from mnemic.text_analysis.attribute_names import has_one_value
from mnemic.text_analysis.clauses import Clause, ValueKind, split_clause
from mnemic.text_analysis.frame_words import ADVERBS, CLAUSE_STARTS, DEFINITE, NO_FRAME_WORDS, SPEAKER
from mnemic.text_analysis.predicates import read_predicates
from mnemic.text_analysis.self_statements import read_self_statements

CERTAINTY_OF_FRAMES = 0.9
"""How sure it is that of two values of one frame only the newer one holds."""
REASON_OF_FRAMES = "It gives another value of the same attribute."
FRAMED_MAX_CHARACTERS = 240
"""Longer statements say more than one thing."""
CACHED_FRAMES = 8_192
CACHED_NAMES = 1_024

SPEAKER_NAMES = frozenset({"I", "We"})
SELF = "i"
"""The subject of a statement about its speaker."""

_WORD = re.compile(r"[^\s,;:!?()\"“”]+")
# A full stop between a small letter and a capital ends a sentence: not in "Inc. is", "K. Le Guin", "D.C.".
# Marks before a small letter may be part of a name ("Yahoo! is"), a colon before a capital of a title.
_NEXT_SENTENCE = re.compile(
    r"(?:[a-z\d][a-z]{2}|\d)[.!?;]\s+[\"“(]?[A-Z]|\n|\?(?!\s[a-z])|;\s|:\s(?![A-Z])|!\s(?![a-z])"
)
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
    """What a statement is about, and the value that it gives.

    `subject` is whose attribute it is, in small letters, `attribute` its name; both, with the kind of the
    value where values of two kinds can hold at once, are the `key` that other values of it share. `words` are
    the words of the statement without its value, for a lexical search.
    """

    key: str
    subject: str
    attribute: str
    value: str
    words: str

    @property
    def gives_name(self) -> bool:
        """Whether the value is a name."""
        return self.value[0].isupper()

    def key_of(self, speaker: str | None) -> str:
        """The key with the speaker, where the subject is "I" or "my": two people have two managers."""
        return f"{self.key} ({speaker})" if self.subject.split(" ", 1)[0] == SELF else self.key

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
    clause = split_clause(tuple(word for word in words if word not in ADVERBS))
    return _of_clause(clause) if clause is not None else _of_reading(text)


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


def _of_clause(clause: Clause) -> Frame | None:
    """The frame of a clause; None if extraction knows its attribute as one of many values."""
    relation = " ".join(clause.attribute).casefold()
    name = _attribute_name(f"'s {relation} is" if clause.is_possession else relation, clause.kind)
    if name is not None and not has_one_value(name):
        return None
    subject = _subject_name(clause.subject)
    kind = clause.kind if name is None else None
    return _frame(subject, name or relation, kind, clause.value, f"{subject} {relation}")


def _of_reading(text: str) -> Frame | None:
    """The frame of the only attribute that extraction reads in a text about now."""
    readings = read_self_statements(text, "I", is_note=True)
    if len(readings) != 1 or not has_one_value(readings[0].attribute):
        return None
    found = readings[0]
    if found.is_negated or found.tense != "current" or found.certainty != "explicit":
        return None
    words = text.replace(found.value, " ").casefold()
    return _frame(_subject_name(found.subject.split()), found.attribute, None, found.value.split(), words)


_PROBES = {"name": "Zenda", "number": "12", "words": "swimming", None: "Zenda"}


@lru_cache(CACHED_NAMES)
def _attribute_name(relation: str, kind: ValueKind | None) -> str | None:
    """What extraction calls the attribute that a relation gives, whatever its value is."""
    found = [each.attribute for each in read_predicates(f"{relation} {_PROBES[kind]}")]
    return found[0] if len(found) == 1 else None


def _subject_name(subject: Sequence[str]) -> str:
    words = [_POSSESSIVE.sub("", word.casefold().replace("’", "'")) for word in subject]
    return " ".join([SELF if words[0] in SPEAKER else words[0], *words[1:]])


def _frame(subject: str, attribute: str, kind: ValueKind | None, value: Sequence[str], words: str) -> Frame:
    """`kind` separates values that can both hold, "born in London" and "born in 1980"; None if none can."""
    key = f"{subject} · {attribute}"
    return Frame(f"{key} ({kind})" if kind else key, subject, attribute, " ".join(value), words)


def _folded(value: str) -> frozenset[str]:
    return frozenset(value.casefold().split()) - DEFINITE
