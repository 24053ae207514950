"""Sentences for what the rules have read: in the third person, so that each can be understood alone."""

import re
from dataclasses import dataclass
from typing import Literal

from mnemic.types.statement import Certainty, Tense

_OWN_WORDS = {
    "my": "their",
    "mine": "theirs",
    "our": "their",
    "ours": "theirs",
    "me": "them",
    "us": "them",
    "myself": "themselves",
    "ourselves": "themselves",
}
_OWN = re.compile(rf"\b(?:{'|'.join(_OWN_WORDS)})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wording:
    """How a predicate is worded, with `{}` for the value.

    A `verb` has its base form ("live in {}"), `be` what follows the verb ("allergic to {}"), a `possession`
    the noun ("birthday"), a `relation` the word for it ("sister").
    """

    kind: Literal["verb", "be", "possession", "relation"]
    text: str
    third_person: str = ""


@dataclass(frozen=True, slots=True)
class ReadPredicate:
    """What a clause says about its subject. `has_ended` says that it was true before."""

    attribute: str
    value: str
    wording: Wording
    certainty: Certainty = "explicit"
    tense: Tense = "current"
    is_negated: bool = False
    has_ended: bool = False


def sentence_about(subject: str, predicate: ReadPredicate) -> str:
    """The sentence that states the predicate of a subject."""
    value = third_person(predicate.value)
    match predicate.wording.kind:
        case "possession" | "relation":
            copula = "was" if predicate.tense == "past" else "is"
            noun = predicate.wording.text.replace("_", " ")
            return f"{_possessive(subject)} {noun} {copula} {value}."
        case "be":
            words = predicate.wording.text.format(value)
            return f"{subject} {_verb_phrase(predicate, f'is {words}', f'be {words}', f'is not {words}')}."
        case "verb":
            base = predicate.wording.text.format(value)
            phrase = predicate.wording.third_person.format(value)
            return f"{subject} {_verb_phrase(predicate, phrase, base, f'does not {base}')}."


def third_person(value: str) -> str:
    """A value in which "my" and "me" are not the reader's."""
    return _OWN.sub(lambda found: _OWN_WORDS[found[0].casefold()], value)


def _verb_phrase(predicate: ReadPredicate, current: str, base: str, negated: str) -> str:
    if predicate.is_negated:
        return f"no longer {current}" if predicate.has_ended else negated
    return f"used to {base}" if predicate.tense == "past" else current


def _possessive(subject: str) -> str:
    return f"{subject}'" if subject.endswith("s") and " " not in subject else f"{subject}'s"
