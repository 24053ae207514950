"""Sequences of tools that conversations have in common, by rules: no model, no database.

A conversation ended well if somebody stated so, otherwise if its last tool call succeeded. Its steps are the
tools that it called, without repetitions in a row and, if it ended well, without the calls that failed. A
pattern is a run of two to five steps that at least two conversations have in common and that ended well, or
badly, in at least two. A run inside a longer one of the same conversations is left out. Patterns are ranked
by the Wilson lower bound of their success.

A pattern says nothing about the single tasks: it consists of names of tools and of words that several
requests have in common, without names, numbers and quotations.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from mnemic.recall.query_filler import QUESTION_STOPWORDS
from mnemic.text_analysis.statement_words import STATEMENT_STOPWORDS
from mnemic.types.strategy import success_lower_bound

STEPS_MIN, STEPS_MAX = 2, 5
CONVERSATIONS_MIN = 2
PATTERNS_MAX = 20
"""Patterns of one owner that are learnt from at a time."""
WARNINGS_MAX = 5
"""The same for patterns that fail."""
TASK_WORDS_MAX = 8
WORD_MIN_CHARACTERS = 3
_WORD = re.compile(r"[^\W\d_]+")
_QUOTED = re.compile(r"\"[^\"]*\"|`[^`]*`|“[^“”]*”|«[^«»]*»")
_POLITE = frozenset(
    {"please", "can", "could", "would", "will", "need", "want", "help", "let", "just", "also"}
)
_STOPWORDS = QUESTION_STOPWORDS | STATEMENT_STOPWORDS | _POLITE

Steps = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EndedConversation:
    """A conversation that ended: its steps, whether it ended well, and what the user asked first."""

    conversation: str
    channel: str
    steps: Steps
    succeeded: bool
    request: str | None


@dataclass(frozen=True, slots=True)
class ToolPattern:
    """Tools in order, the conversations in which they were used so, and words for their task."""

    tools: Steps
    successes: tuple[str, ...]
    failures: tuple[str, ...]
    channels: frozenset[str]
    task: str

    @property
    def success_rate(self) -> float:
        """The lower bound of the rate of success."""
        return success_lower_bound(len(self.successes), len(self.failures))

    @property
    def is_warning(self) -> bool:
        """Whether it failed more often than it succeeded."""
        return len(self.failures) > len(self.successes)

    @property
    def text(self) -> str:
        """What to do, in words."""
        return f"Call {', then '.join(self.tools)}."


def ended(
    conversation: str,
    channel: str,
    tools: Sequence[str],
    succeeded: Sequence[bool],
    outcome: str | None,
    request: str | None,
) -> EndedConversation:
    """A conversation by its tool calls; `outcome` is what somebody stated."""
    is_good = outcome == "success" if outcome in ("success", "failure") else succeeded[-1]
    called = (tool for tool, good in zip(tools, succeeded, strict=True) if good or not is_good)
    return EndedConversation(
        conversation, channel, tuple(tool for tool, _ in groupby(called)), is_good, request
    )


def find_patterns(conversations: Sequence[EndedConversation]) -> list[ToolPattern]:
    """The patterns of conversations, the most successful first, then the warnings."""
    used: dict[Steps, list[EndedConversation]] = {}
    for conversation in conversations:
        for run in set(_runs(conversation.steps)):
            used.setdefault(run, []).append(conversation)
    found = [
        _pattern(run, users) for run, users in _longest(used) if max(_outcomes(users)) >= CONVERSATIONS_MIN
    ]
    ranked = sorted(found, key=_rank)
    good = [pattern for pattern in ranked if not pattern.is_warning]
    bad = [pattern for pattern in ranked if pattern.is_warning]
    return good[:PATTERNS_MAX] + sorted(bad, key=lambda each: -len(each.failures))[:WARNINGS_MAX]


def task_words(requests: Iterable[str]) -> list[str]:
    """Words that most of the requests have in common, in the order of the first: no names, no numbers."""
    words = [_common_words(request) for request in requests]
    counts = Counter(word for each in words for word in each)
    enough = max(CONVERSATIONS_MIN, (len(words) + 1) // 2)
    in_order = dict.fromkeys(word for each in words for word in each)
    return [word for word in in_order if counts[word] >= enough][:TASK_WORDS_MAX]


def _pattern(run: Steps, users: Sequence[EndedConversation]) -> ToolPattern:
    words = task_words(user.request for user in users if user.request is not None)
    return ToolPattern(
        tools=run,
        successes=tuple(user.conversation for user in users if user.succeeded),
        failures=tuple(user.conversation for user in users if not user.succeeded),
        channels=frozenset(user.channel for user in users),
        task=" ".join(words or dict.fromkeys(_words_of_tools(run))),
    )


def _runs(steps: Steps) -> Iterator[Steps]:
    for size in range(STEPS_MIN, STEPS_MAX + 1):
        for start in range(len(steps) - size + 1):
            yield steps[start : start + size]


def _longest(
    used: dict[Steps, list[EndedConversation]],
) -> Iterator[tuple[Steps, list[EndedConversation]]]:
    """Runs of enough conversations, without those inside a longer run of the same conversations."""
    frequent = {run: users for run, users in used.items() if len(users) >= CONVERSATIONS_MIN}
    covered = {
        (part, len(users))
        for run, users in frequent.items()
        for part in (run[:-1], run[1:])
        if len(part) >= STEPS_MIN
    }
    # A part occurs wherever the whole does, so the same number of users means the same users.
    return ((run, users) for run, users in frequent.items() if (run, len(users)) not in covered)


def _outcomes(users: Sequence[EndedConversation]) -> tuple[int, int]:
    good = sum(user.succeeded for user in users)
    return good, len(users) - good


def _rank(pattern: ToolPattern) -> tuple[float, int, int, Steps]:
    return (-pattern.success_rate, -len(pattern.successes), -len(pattern.tools), pattern.tools)


def _common_words(request: str) -> list[str]:
    """The words of a request that may stand for its kind: in lower case, or the first word."""
    plain = _QUOTED.sub(" ", request)
    tokens = _WORD.findall(plain)
    kept = [token.casefold() for place, token in enumerate(tokens) if token.islower() or place == 0]
    return list(
        dict.fromkeys(word for word in kept if len(word) >= WORD_MIN_CHARACTERS and word not in _STOPWORDS)
    )


def _words_of_tools(tools: Steps) -> Iterator[str]:
    """The words in the names of tools: searchFlights and search_flights are "search flights"."""
    for tool in tools:
        split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", tool)
        yield from [word.casefold() for word in _WORD.findall(split)] or [tool]
