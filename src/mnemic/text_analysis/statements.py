"""Reading a statement by rules: whom it is about, which attribute it gives, which values, which change.

A statement is a short text such as a person notes it: "I take 50 mg of metoprolol", "Ifeoma's line manager is
Bart". Nothing here understands it; the rules read what two statements need to have in common to be about the
same thing (`outdating` compares them). English first; the commonest words of Spanish, German and French are
listed beside the English ones. No model, no database.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from mnemic.text_analysis.frames import Frame, read_frame
from mnemic.text_analysis.statement_words import (
    ATTRIBUTE_PHRASES,
    ATTRIBUTE_WORDS,
    AUXILIARIES,
    CHANGE_PHRASES,
    CHANGE_WORDS,
    KIN,
    MANY_VALUED,
    NUMBERS,
    OWNER_WORDS,
    PAST_VERBS,
    STATEMENT_STOPWORDS,
    WORDS,
)

STATEMENT_MAX_CHARACTERS = 600
"""Longer texts are no statements: they say too much to be outdated as a whole."""
SUBJECT_MAX_WORDS = 5
"""A relative is the subject if it is named among the first words: "My sister Sela lives in Bath."."""
EVENT_MAX_WORDS = 5
"""The verb of an event comes among the first words: "Ana and Jo flew to Porto"."""
CACHED_STATEMENTS = 4_096
CACHED_STEMS = 16_384

_WORD = re.compile(r"\w+(?:[.,:/#'’-]\w+)*")
_DIGIT = re.compile(r"\d")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;]\s+|[\n(\"'‘“`])$")
_POSSESSIVE = re.compile(r"['’]s?$")
_SENTENCES = re.compile(r"[a-z\d][.!?;]\s+\S")
_PAST_ENDING = re.compile(r"[^\W\d_]{3,40}ed")
_NO_ASSERTION = re.compile(
    r"^(?:maybe|perhaps|if|does|do|did|is|are|was|were|can|could|would|should|will|who|what|when|where|which|how"
    r"|why)\b|\?\s*$|\b(?:would|might|used to|years ago|former(?:ly)?|previously|was once|were once|never"
    r"|(?:does|do|did|is|was|are|were) not|(?:does|do|did|is|was|are|were)n['’]t)\b",
    re.IGNORECASE,
)
# "Ifeoma was offered", "Kwabena and Siobhán", "Kelvin Seafoods": not "Lives on", "Finished the".
_FOLLOWS_A_NAME = re.compile(r"is|was|are|were|has|had|and|will|[a-z]{3,30}(?:s|ed)|[A-Z]\w{1,40}")


@dataclass(frozen=True, slots=True)
class StatementFeatures:
    """What the rules read in a text.

    `tokens` are its words in order, in small letters; `words` the stems of its content words, `names` those
    among them that are names or identifiers. `values` are the numbers, times, dates and quoted texts by kind,
    `attributes` the attributes that it speaks of, `changes` the kinds of change that it announces. `subject`
    is the relative or the name that it begins with, None for the owner. `is_many_valued` says that it has a
    verb of which a subject has many objects ("likes", "visited"): another object does not replace the first.
    `frame` is what it is about without its value, if it gives one value of one attribute (`frames`).
    `is_event` says that it is one sentence about something that happened, `is_assertion` that it says what is
    so: not a question, a supposition or a report of the past.
    """

    tokens: tuple[str, ...]
    words: frozenset[str]
    names: frozenset[str]
    values: Mapping[str, frozenset[str]]
    attributes: frozenset[str]
    changes: frozenset[str]
    subject: str | None
    is_many_valued: bool
    frame: Frame | None
    is_event: bool
    is_assertion: bool


@lru_cache(CACHED_STATEMENTS)
def read_statement(text: str) -> StatementFeatures | None:
    """Read a text; None if it is too long for a statement, or has no content word."""
    if len(text) > STATEMENT_MAX_CHARACTERS:
        return None
    found = list(_WORD.finditer(text))
    tokens = tuple(match[0].casefold() for match in found)
    words = frozenset(stem(token) for token in tokens if token not in STATEMENT_STOPWORDS)
    if not words:
        return None
    plain = {_POSSESSIVE.sub("", token) for token in tokens}
    return StatementFeatures(
        tokens=tokens,
        words=words,
        names=frozenset(stem(match[0]) for match in found if _is_name(text, match)),
        values=_values(text),
        attributes=_ATTRIBUTES.kinds_in(text, plain),
        changes=_CHANGES.kinds_in(text, plain),
        subject=_subject([match[0] for match in found]),
        is_many_valued=not MANY_VALUED.isdisjoint(plain),
        frame=read_frame(text),
        is_event=_is_event(text, tokens),
        is_assertion=_NO_ASSERTION.search(text) is None or _SENTENCES.search(text) is not None,
    )


@lru_cache(CACHED_STEMS)
def stem(word: str) -> str:
    """A word without its commonest endings, so that "instalment" and "instalments" are equal."""
    folded = _POSSESSIVE.sub("", word.casefold())
    for ending in ("ing", "ies", "ed", "es", "s", "e", "y"):
        if folded.endswith(ending) and len(folded) - len(ending) >= 3:
            return folded.removesuffix(ending)
    return folded


def _is_event(text: str, tokens: Sequence[str]) -> bool:
    """Whether the subject of the only sentence is followed by a verb in the simple past."""
    if _SENTENCES.search(text):
        return False
    return any(
        (token in PAST_VERBS or _PAST_ENDING.fullmatch(token)) and before not in AUXILIARIES
        for before, token in pairwise(tokens[:EVENT_MAX_WORDS])
    )


class _Lexicon:
    """Kinds of attributes or changes, by the words and phrases that speak of them."""

    def __init__(self, words: Mapping[str, str], phrases: Mapping[str, str]) -> None:
        self._whole: dict[str, set[str]] = defaultdict(set)
        self._beginnings: list[tuple[str, str]] = []
        for kind, text in words.items():
            for word in text.split():
                if word.endswith("*"):
                    self._beginnings.append((word[:-1], kind))
                else:
                    self._whole[word].add(kind)
        self._phrases = {
            kind: re.compile(rf"\b(?:{phrase})", re.IGNORECASE) for kind, phrase in phrases.items()
        }

    def kinds_in(self, text: str, words: Iterable[str]) -> frozenset[str]:
        """The kinds that a text with these words speaks of."""
        kinds = {kind for word in words for kind in self._whole.get(word, ())}
        kinds.update(kind for word in words for start, kind in self._beginnings if word.startswith(start))
        kinds.update(kind for kind, phrase in self._phrases.items() if phrase.search(text))
        return frozenset(kinds)


_ATTRIBUTES = _Lexicon(ATTRIBUTE_WORDS, ATTRIBUTE_PHRASES)
_CHANGES = _Lexicon(CHANGE_WORDS, CHANGE_PHRASES)


def _is_name(text: str, match: re.Match[str]) -> bool:
    """Whether a word is an identifier, or capitalised elsewhere than at the start of a sentence."""
    word = match[0]
    if _DIGIT.search(word):
        return any(map(str.isalpha, word))
    if not word[0].isupper() or word.casefold() in STATEMENT_STOPWORDS:
        return False
    at_start = _SENTENCE_START.search(text[max(0, match.start() - 3) : match.start()]) is not None
    return not at_start or "'" in word or "’" in word


def _values(text: str) -> dict[str, frozenset[str]]:
    values: dict[str, set[str]] = defaultdict(set)
    for kind, pattern in (*NUMBERS, *WORDS) if _DIGIT.search(text) else WORDS:
        for match in pattern.finditer(text):
            unit = match.groupdict().get("unit")
            values[f"{kind} {stem(unit)}" if unit else kind].add(match["value"].casefold())
    return {kind: frozenset(found) for kind, found in values.items()}


def _subject(tokens: Sequence[str]) -> str | None:
    """The relative among the first words, else the name that the statement begins with."""
    for token in tokens[:SUBJECT_MAX_WORDS]:
        folded = _POSSESSIVE.sub("", token.casefold())
        if folded in KIN:
            return folded
    first, second = tokens[0], tokens[1] if len(tokens) > 1 else ""
    if first.casefold() in OWNER_WORDS | STATEMENT_STOPWORDS or not first[0].isupper():
        return None
    is_possessive = _POSSESSIVE.search(first) is not None
    return stem(first) if is_possessive or _FOLLOWS_A_NAME.fullmatch(second) else None
