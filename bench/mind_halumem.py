"""HaluMem: dialogues of users with an assistant that also says what is false about them.

The dialogues are retained as conversations, then consolidated; what is measured are the statements that are
stored, and the sentences of summaries, one by one. The data names *gold* memories, which a reader should
keep, and *planted* ones, which are false.
Words are compared without their endings and without the commonest ones and the user's name:

- a gold memory (updates and what the persona was given left out) is covered if a statement has at least half
  of its words; sentences of summaries and the user's raw turns are compared in the same way, beside it;
- a planted memory is stored if a statement or a sentence of a summary has at least half of its words, and at
  least half of those that make it false: the words that are not in the true memory that it distorts.

Everything runs twice: the second run must store nothing.
"""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from bench.datasets import read_file
from mnemic import AsyncMemory
from mnemic.extraction.protocol import SourceText
from mnemic.extraction.rules import propose
from mnemic.text_analysis.statement_words import STATEMENT_STOPWORDS
from mnemic.text_analysis.statements import stem
from mnemic.types.memory import MemoryRecord
from mnemic.types.statement import SUMMARY_TAG

OVERLAP = 0.5
PAGE = 1_000
TIME_FORMAT = "%b %d, %Y, %H:%M:%S"

_NAME = re.compile(r"Name: ([^;]+)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")

Stems = frozenset[str]


@dataclass(frozen=True)
class PlantedMemory:
    """A false memory: its words, and those that make it false."""

    words: Stems
    false_words: Stems

    def is_in(self, texts: Iterable[Stems]) -> bool:
        """Whether one of the texts says it."""
        return any(
            covers(text, self.words) and (not self.false_words or covers(text, self.false_words))
            for text in texts
        )


@dataclass(frozen=True)
class HaluMemUser:
    """A user: the turns for `retain_many`, and the memories that the data names."""

    name: str
    items: tuple[dict[str, Any], ...]
    gold: tuple[Stems, ...]
    planted: tuple[PlantedMemory, ...]

    def stems(self, text: str) -> Stems:
        """The words of a text that count: without endings, common words and the user's name."""
        return stems(text) - stems(self.name)


@dataclass
class HaluMemResult:
    """Sums over all users.

    `python_s` is the CPU time of this process while consolidating, `rules_s` that of the rules alone.
    """

    user_count: int = 0
    turn_count: int = 0
    statement_count: int = 0
    planted_count: int = 0
    planted_stored: int = 0
    planted_in_summaries: int = 0
    planted_in_turns: int = 0
    gold_count: int = 0
    gold_covered: int = 0
    gold_in_summaries: int = 0
    gold_in_turns: int = 0
    gold_in_either: int = 0
    useful_count: int = 0
    stored_again_count: int = 0
    python_s: float = 0.0
    rules_s: float = 0.0


def read_halumem(folder: Path, *, sessions_max: int | None = None) -> Iterator[HaluMemUser]:
    """The users of the file; with `sessions_max`, only the first sessions of each that name memories."""
    for user in read_file(folder, "halumem"):
        named = _NAME.search(user["persona_info"])
        name = named[1] if named else "user"
        sessions = user["sessions"]
        if sessions_max is not None:
            sessions = [each for each in sessions if any(map(_is_measured, each["memory_points"]))]
        sessions = sessions[:sessions_max]
        points = [point for session in sessions for point in session["memory_points"]]
        own = stems(name)
        yield HaluMemUser(
            name=name,
            items=tuple(_items(sessions, name)),
            gold=tuple(stems(point["memory_content"]) - own for point in points if _is_gold(point)),
            planted=tuple(_planted(point, own) for point in points if _is_planted(point)),
        )


def _items(sessions: Sequence[Any], name: str) -> Iterator[dict[str, Any]]:
    for number, session in enumerate(sessions):
        for place, turn in enumerate(session["dialogue"]):
            yield {
                # People repeat themselves: a turn is a duplicate only by its external id.
                "external_id": f"{number}-{place}",
                "content": turn["content"],
                "role": turn["role"],
                "name": name if turn["role"] == "user" else None,
                "conversation": f"session-{number}",
                "at": datetime.strptime(turn["timestamp"], TIME_FORMAT).replace(tzinfo=UTC),
            }


def _is_planted(point: Any) -> bool:
    return bool(point["memory_source"] == "interference")


def _is_gold(point: Any) -> bool:
    return point["memory_source"] not in ("interference", "system") and point["is_update"] != "True"


def _is_measured(point: Any) -> bool:
    return _is_planted(point) or _is_gold(point)


def _planted(point: Any, own: Stems) -> PlantedMemory:
    words = stems(point["memory_content"]) - own
    return PlantedMemory(words, words - stems(point.get("reference_memory_content") or ""))


def stems(text: str) -> Stems:
    """The words of a text without endings and common words."""
    words = (word.casefold() for word in _WORD.findall(text))
    return frozenset(stem(word) for word in words if word not in STATEMENT_STOPWORDS)


def covers(text: Stems, words: Stems) -> bool:
    """Whether a text has at least half of these words."""
    return len(words & text) >= OVERLAP * len(words)


async def measure_halumem(memory: AsyncMemory, users: Iterable[HaluMemUser]) -> HaluMemResult:
    """Retain, consolidate and compare user after user; then do it again."""
    result = HaluMemResult()
    for user in users:
        await memory.retain_many(user.items, owner=user.name)
        began_s = time.process_time()
        await memory.consolidate(owner=user.name)
        result.python_s += time.process_time() - began_s
        result.rules_s += _time_of_rules(user)
        records = await _records(memory, user.name)
        _count(result, user, [each for each in records if each.source in ("extracted", "inferred")])
        await memory.retain_many(user.items, owner=user.name)
        await memory.consolidate(owner=user.name)
        result.stored_again_count += len(await _records(memory, user.name)) - len(records)
    return result


def _time_of_rules(user: HaluMemUser) -> float:
    """CPU time in which the rules alone read all turns, in seconds."""
    sources = [
        SourceText(uuid4(), item["content"], item["role"], item["name"], item["at"], position)
        for position, item in enumerate(user.items)
    ]
    began_s = time.process_time()
    for source in sources:
        propose(source)
    return time.process_time() - began_s


def _count(result: HaluMemResult, user: HaluMemUser, statements: Sequence[MemoryRecord]) -> None:
    said = [user.stems(item["content"]) for item in user.items if item["role"] == "user"]
    stored = [user.stems(each.content) for each in statements if SUMMARY_TAG not in each.tags]
    summaries = [each.content for each in statements if SUMMARY_TAG in each.tags]
    summarised = [user.stems(sentence) for text in summaries for sentence in _SENTENCE_END.split(text)]
    result.user_count += 1
    result.turn_count += len(user.items)
    result.statement_count += len(stored)
    result.planted_count += len(user.planted)
    result.planted_stored += sum(planted.is_in(stored) for planted in user.planted)
    result.planted_in_summaries += sum(planted.is_in(summarised) for planted in user.planted)
    result.planted_in_turns += sum(planted.is_in(said) for planted in user.planted)
    result.gold_count += len(user.gold)
    in_stored = [any(covers(text, words) for text in stored) for words in user.gold]
    in_said = [any(covers(text, words) for text in said) for words in user.gold]
    result.gold_covered += sum(in_stored)
    result.gold_in_summaries += sum(any(covers(text, words) for text in summarised) for words in user.gold)
    result.gold_in_turns += sum(in_said)
    result.gold_in_either += sum(map(max, in_stored, in_said))
    result.useful_count += sum(any(covers(text, words) for words in user.gold) for text in stored)


async def _records(memory: AsyncMemory, owner: str) -> list[MemoryRecord]:
    """All active memories of an owner."""
    found: list[MemoryRecord] = []
    before = None
    while page := await memory.memories.list(owner=owner, limit=PAGE, before=before):
        found += page
        before = page[-1].memory_id
    return found
