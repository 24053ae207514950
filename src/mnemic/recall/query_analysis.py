"""Query analysis by rules: topic, times, quoted phrases, speakers. No model, no database."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from mnemic.recall.overview_question import OverviewQuestion, recognise_overview
from mnemic.recall.query_filler import (
    QUESTION_STOPWORDS,
    WORDS_FOR_MEMORIES,
    remove_filler,
    remove_function_words,
    strip_filler,
)
from mnemic.recall.query_tense import asks_for_past
from mnemic.recall.query_times import detect_query_times, without_times
from mnemic.text_analysis.times import DetectedTime

PHRASES_MAX = 4

_QUOTED = re.compile(r'"([^"]{2,200})"|“([^”]{2,200})”|„([^“”]{2,200})[“”]|«([^»]{2,200})»')
_FIRST_PERSON = re.compile(r"\b(i|i'm|i've|i'd|i'll|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)
_SAID_BY_ASSISTANT = re.compile(
    r"\b(?:did|have|had) you\b|\byou (?:\w+ ){0,2}?"
    r"(?:said|told|mentioned|gave|recommended|suggested|provided|advised|explained|listed|wrote|shared)\b"
    r"|\byour (?:answer|advice|recommendation|suggestion|explanation|list|reply|response)s?\b",
    re.IGNORECASE,
)
# These ask for one answer: "Where did I go last week?" does not ask for a list of that week.
_PLACE_OR_PERSON = re.compile(r"\b(?:where|who|whom|whose|why)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class QueryAnalysis:
    """What a query says. Windows are in seconds since 1970, from the first on, before the second.

    `topic` is the query without conversational filler, to be embedded; `lexical_text` are its words for the
    lexical search. `speaker_roles` are the roles whose words the query is about: a question in the first
    person is mostly about what the user said, one about what "you" said about what the assistant said.
    `is_time_only` means that the query names a time and nothing else, `lists_time` that it also asks for all
    of it: "What happened last week?", not "Where did I go last week?"
    `overview` is set if the query asks for an overview instead of a fact.
    """

    topic: str
    lexical_text: str
    windows: tuple[tuple[float, float], ...]
    phrases: tuple[str, ...]
    speaker_roles: frozenset[str]
    casefolded_words: frozenset[str]
    is_time_only: bool
    lists_time: bool
    asks_for_past: bool = False
    overview: OverviewQuestion | None = None

    def mentions(self, name: str) -> bool:
        """Whether the query has the first word of this name, or all of its words."""
        words = _WORD.findall(name.casefold())
        return bool(words) and (words[0] in self.casefolded_words or self.casefolded_words.issuperset(words))


def analyse_query(query: str, asked_at: datetime) -> QueryAnalysis:
    """Analyse a query. Relative times ("last week") count from `asked_at`."""
    times = detect_query_times(query, asked_at)
    is_time_only = bool(times) and not _content_words(without_times(query, times)) - WORDS_FOR_MEMORIES
    lists_time = is_time_only and not _PLACE_OR_PERSON.search(query)
    topic = strip_filler(without_times(query, times, keep_calendar_words=True) if times else query)
    phrases = ["".join(groups) for groups in _QUOTED.findall(query)]
    return QueryAnalysis(
        topic=query if lists_time else topic,
        lexical_text=remove_function_words(topic),
        windows=_windows(times),
        phrases=tuple(phrase for phrase in phrases if len(_WORD.findall(phrase)) > 1)[:PHRASES_MAX],
        speaker_roles=_speaker_roles(query),
        casefolded_words=frozenset(_WORD.findall(query.casefold())),
        asks_for_past=asks_for_past(query),
        is_time_only=is_time_only,
        lists_time=lists_time,
        overview=recognise_overview(query),
    )


def _windows(times: Sequence[DetectedTime]) -> tuple[tuple[float, float], ...]:
    """The windows of the times. "Recently" counts only where no other time says more."""
    definite = [time for time in times if time.kind != "recent"]
    values = [time.value for time in definite or times]
    return tuple((value.start.timestamp(), value.end.timestamp()) for value in values)


def _content_words(text: str) -> set[str]:
    """The words that say what a query is about."""
    return set(_WORD.findall(remove_filler(text).casefold())) - QUESTION_STOPWORDS


def _speaker_roles(query: str) -> frozenset[str]:
    if _SAID_BY_ASSISTANT.search(query):
        return frozenset({"assistant"})
    return frozenset({"user"}) if _FIRST_PERSON.search(query) else frozenset()
