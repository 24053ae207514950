"""Splits a short statement by its structure: what it is about, the relation, the value that it gives.

A statement is split only if its grammar says that there is one value:

- a copula after a definite subject with an attribute ("the N of …", "the N that …", "…'s N", "my N"), where N
  is no noun of which there may be several ("friend", "hobby");
- a participle with its preposition that tells of an act done once ("was written by") or of a state with one
  value at a time ("is located in"), or that names ("is called");
- a verb of position, time or affiliation with its preposition ("works at"), or of a measure ("costs");
- a number with its unit ("is 40 metres long", "has a height of 40 metres", "has 40 seats");
- a verb that names the type of its value ("speaks the language of").

Words count by their class (`frame_words`), not by whole sentences. English, and copulas after definite
subjects in Spanish, German and French.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from mnemic.text_analysis.attribute_names import SINGLE_VALUED_ATTRIBUTES
from mnemic.text_analysis.frame_words import (
    ACTS,
    CLAUSE_WORDS,
    COPULAS,
    DEFINITE,
    DIMENSIONS,
    INDEFINITE,
    JUDGING,
    KNOWN_NOUNS,
    MANY_NOUNS,
    MEASURES,
    NAMED_ONLY,
    NAMING,
    NOT_SPECIFIC,
    NUMBER_WORDS,
    OCCASIONS,
    OF_WORDS,
    OWN,
    PREPOSITIONS,
    PRESENT_COPULAS,
    STATES,
    TYPED_PREDICATES,
    TYPED_VERBS,
    VERBS,
)

VALUE_MAX_WORDS = 10
SUBJECT_MAX_WORDS = 16
TYPE_MAX_WORDS = 2
"""Words of the type in "the official language of"."""
COUNTED_MAX_WORDS = 2

ValueKind = Literal["number", "name", "words"]
Words = Sequence[str]

_POSSESSIVE = re.compile(r"['’]s?$")
_NOUNS_OF_ONE_VALUE = SINGLE_VALUED_ATTRIBUTES | KNOWN_NOUNS
_FAVOURITE = frozenset({"favourite", "favorite"})


@dataclass(frozen=True, slots=True)
class Clause:
    """A statement in parts, as words.

    The attribute of a possession ("the capital of X", "X's capital") is its noun with what describes it;
    otherwise it is the relation, from the copula or verb up to the value. `kind` is None if values of
    different kinds exclude each other, too: not for "born in London" and "born in 1980".
    """

    subject: Words
    attribute: Words
    value: Words
    kind: ValueKind | None
    is_possession: bool = False


def split_clause(words: Words) -> Clause | None:
    """The parts of a statement that gives one value of one attribute; None if it does not."""
    copulas = [place for place, word in enumerate(words) if word in COPULAS]
    if not copulas:
        return _first(_after_verb(words))
    place = copulas[-1]
    if not 0 < place <= SUBJECT_MAX_WORDS:
        return None
    subject, copula, rest = words[:place], words[place], words[place + 1 :]
    return _first(_after_participle(subject, copula, rest)) or _possession(subject, copula, rest)


def _first(clauses: Iterator[Clause]) -> Clause | None:
    return next(clauses, None)


def _possession(subject: Words, copula: str, rest: Words) -> Clause | None:
    """ "The capital of France is Paris", "Tom's manager is Ada", "My password is swordfish"."""
    if not rest or copula not in PRESENT_COPULAS:
        return None
    noun, whose = _attribute_noun(subject)
    if not noun or noun[-1] in MANY_NOUNS:
        return None
    place = [rest[0]] if rest[0] in PREPOSITIONS else []
    value = rest[len(place) :]
    kind = value_kind(value[1:] if value and value[0] == "number" else value)
    is_known = noun[-1] in _NOUNS_OF_ONE_VALUE or not _FAVOURITE.isdisjoint(noun)
    if kind is None or (kind == "words" and (not is_known or value[0] in JUDGING)):
        return None
    if place and not is_known and (noun[-1] in OCCASIONS and subject[0].casefold() not in DEFINITE):
        return None
    return Clause(whose, [*noun, *place], value, kind if place or not is_known else None, is_possession=True)


def _attribute_noun(subject: Words) -> tuple[Words, Words]:
    """The noun of a subject with what describes it, and whose attribute it names: "capital" and X in "the
    capital of X", "X's capital"."""
    folded = [word.casefold() for word in subject]
    is_definite = folded[0] in DEFINITE
    ends = [place for place, word in enumerate(folded) if word in OF_WORDS | CLAUSE_WORDS | PREPOSITIONS]
    if ends and ends[0] < len(subject) - 1 and (is_definite or folded[0] in SINGLE_VALUED_ATTRIBUTES):
        end = ends[0]
        noun = folded[is_definite:end]
        return noun, subject[end + (folded[end] in OF_WORDS) :]
    owners = [place for place, word in enumerate(folded) if _POSSESSIVE.search(word) or word in OWN]
    if owners and owners[-1] < len(subject) - 1 and not subject[-1][0].isupper():
        return folded[owners[-1] + 1 :], subject[: owners[-1] + 1]
    is_compound = (
        is_definite
        and len(subject) > 2
        and not owners
        and not ends
        and folded == [subject[0].casefold(), *subject[1:]]
    )
    if is_compound and folded[1] not in NOT_SPECIFIC and folded[-1] in _NOUNS_OF_ONE_VALUE:
        return folded[1:], subject[:1]
    return (), ()


def _after_participle(subject: Words, copula: str, rest: Words) -> Iterator[Clause]:
    """ "X is located in the city of Y", "X was founded by Y", "X is a citizen of Y", "X is 40 m long"."""
    if len(rest) < 2 or not is_specific(subject):
        return
    if rest[-1] in DIMENSIONS and value_kind(rest[:-1]) == "number":
        yield Clause(subject, ["is", rest[-1]], rest[:-1], "number")
    if rest[0] in NAMING and value_kind(rest[1:]) == "name":
        noun, whose = _attribute_noun(subject)
        if noun and noun[-1] not in MANY_NOUNS:
            yield Clause(whose, noun, rest[1:], "name", is_possession=True)
        elif not noun:
            yield Clause(subject, ["is", rest[0]], rest[1:], "name")
    article = 1 if rest[0] in INDEFINITE | DEFINITE else 0
    if len(rest) < article + 3:
        return
    word, preposition = pair = (rest[article], rest[article + 1])
    is_state, is_typed = pair in STATES, word in TYPED_PREDICATES
    if bool(article) != (preposition == "of") or not (pair in ACTS or is_state or is_typed):
        return
    if pair not in ACTS and copula not in PRESENT_COPULAS:
        return
    for clause in _before_value(subject, rest[article:], 2, needs_type=is_typed and not is_state):
        if pair not in NAMED_ONLY or clause.kind == "name":
            yield Clause(subject, ["is" if is_state else "was", *clause.attribute], clause.value, clause.kind)


def _after_verb(words: Words) -> Iterator[Clause]:
    """ "Tom works at Acme", "Ana plays the position of goalkeeper", "A ticket costs 5 euros"."""
    for place, verb in enumerate(words[: SUBJECT_MAX_WORDS + 1]):
        if not place or place + 1 >= len(words):
            continue
        subject, rest = words[:place], words[place:]
        if (verb, rest[1]) in VERBS:
            yield from _before_value(subject, rest, 2, needs_type=False)
        elif verb in TYPED_VERBS:
            yield from _before_value(subject, rest, 1 + (rest[1] in PREPOSITIONS), needs_type=True)
        elif verb in MEASURES:
            yield from _measured(subject, rest)
        elif verb in ("has", "have"):
            yield from _counted(subject, rest)


def _measured(subject: Words, rest: Words) -> Iterator[Clause]:
    """ "costs 5 euros", "pays 840 euros in rent"."""
    end = next((place for place, word in enumerate(rest) if word in PREPOSITIONS), len(rest))
    if is_specific(subject) and value_kind(rest[1:end]) == "number":
        yield Clause(subject, [rest[0], *rest[end:]], rest[1:end], None)


def _counted(subject: Words, rest: Words) -> Iterator[Clause]:
    """ "has a height of 40 m", "has 40 seats"."""
    if not is_specific(subject):
        return
    if rest[1] in INDEFINITE and "of" in rest[3:-1]:
        end = rest.index("of") + 1
        if value_kind(rest[end:]) == "number":
            yield Clause(subject, rest[:end], rest[end:], None)
    elif (
        rest[1].isdigit()
        and len(rest[2:]) in range(1, COUNTED_MAX_WORDS + 1)
        and value_kind(rest[2:]) == "words"
    ):
        yield Clause(subject, ["has", *rest[2:]], rest[1:2], None)


def _before_value(subject: Words, rest: Words, start: int, *, needs_type: bool) -> Iterator[Clause]:
    """The clause whose value begins at `start`, or after the type that is named there."""
    end = _type_end(rest, start)
    kind = value_kind(rest[end:])
    if kind is not None and is_specific(subject) and not (end == start and needs_type):
        yield Clause(subject, rest[:end], rest[end:], kind if end == start else None)


def is_specific(subject: Words) -> bool:
    """Whether a subject is meant whenever these words are used: "the meeting" is not."""
    if subject[0].casefold() in DEFINITE:
        return any(word in OF_WORDS or word[0].isupper() for word in subject[1:])
    return subject[0].casefold() not in CLAUSE_WORDS


def _type_end(rest: Words, start: int) -> int:
    """Where "the city of" ends that begins at `start`; `start` if there is none."""
    if start < len(rest) and rest[start] == "the":
        for place in range(start + 2, min(start + 2 + TYPE_MAX_WORDS, len(rest) - 1)):
            if rest[place] == "of":
                return place + 1
    return start


def value_kind(value: Words) -> ValueKind | None:
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
