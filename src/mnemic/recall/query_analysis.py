"""What a query says by itself, before anything is searched: times, phrases, who is spoken of."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from mnemic.recall.query_filler import EMPTY_WORDS, focus, without_asides, words_to_look_up

PHRASES_MAX = 4
WINDOWS_MAX = 8

_QUOTED = re.compile(r'"([^"]{2,200})"|“([^”]{2,200})”|„([^“”]{2,200})[“”]|«([^»]{2,200})»')
_FIRST_PERSON = re.compile(r"\b(i|i'm|i've|i'd|i'll|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)
_TO_THE_ASSISTANT = re.compile(
    r"\b(?:did|have|had) you\b|\byou (?:\w+ ){0,2}?"
    r"(?:said|told|mentioned|gave|recommended|suggested|provided|advised|explained|listed|wrote|shared)\b"
    r"|\byour (?:answer|advice|recommendation|suggestion|explanation|list|reply|response)s?\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")


class TimeSpan(Protocol):
    """From `start` on, before `end`."""

    @property
    def start(self) -> datetime: ...
    @property
    def end(self) -> datetime: ...


@dataclass(frozen=True)
class FoundTime:
    """A time that a text names at `text[start:end]`, and the window that it means."""

    start: int
    end: int
    window: TimeSpan


FindTimes = Callable[[str, datetime], Sequence[FoundTime]]


@dataclass(frozen=True)
class Question:
    """A query, understood. Windows are in seconds since 1970, from the first on, before the second.

    `speaker_roles` are the roles whose words the query is about: a question in the first person is mostly
    about what the user said, one about what "you" said about what the assistant did. A query that
    `asks_only_when` names a time and nothing else: "What happened last week?" `matter` is what it is about,
    to be embedded, and `text` the words of that, to be looked up.
    """

    matter: str
    text: str
    windows: tuple[tuple[float, float], ...]
    phrases: tuple[str, ...]
    speaker_roles: frozenset[str]
    folded_words: frozenset[str]
    asks_only_when: bool

    def names(self, name: str) -> bool:
        """Whether it speaks of somebody with this name: by all of it, or by its first word."""
        words = _WORD.findall(name.casefold())
        return bool(words) and (words[0] in self.folded_words or self.folded_words.issuperset(words))


def understand(query: str, asked_at: datetime, find_times: FindTimes) -> Question:
    """Read a query. What is relative in it ("last week") counts from `asked_at`."""
    times = find_times(query, asked_at)[:WINDOWS_MAX]
    phrases = ["".join(groups) for groups in _QUOTED.findall(query)]
    matter = focus(query)
    return Question(
        matter=matter,
        text=words_to_look_up(matter),
        windows=tuple((time.window.start.timestamp(), time.window.end.timestamp()) for time in times),
        phrases=tuple(phrase for phrase in phrases if len(_WORD.findall(phrase)) > 1)[:PHRASES_MAX],
        speaker_roles=_speaker_roles(query),
        folded_words=frozenset(_WORD.findall(query.casefold())),
        asks_only_when=bool(times) and not _beside(query, times),
    )


def _beside(query: str, times: Sequence[FoundTime]) -> set[str]:
    """The words of a query that say something, without those that name its times."""
    rest = list(query)
    for time in times:
        rest[time.start : time.end] = " " * (time.end - time.start)
    return set(_WORD.findall(without_asides("".join(rest)).casefold())) - EMPTY_WORDS


def _speaker_roles(query: str) -> frozenset[str]:
    if _TO_THE_ASSISTANT.search(query):
        return frozenset({"assistant"})
    return frozenset({"user"}) if _FIRST_PERSON.search(query) else frozenset()
