"""Data about facts that change: numbered facts of which later ones replace earlier ones.

`conflicts_*` (FactConsolidation of MemoryAgentBench) holds lists of numbered facts and questions about the
value that holds last. The files are read from a folder that the caller names; none is part of this
repository.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from bench.datasets import read_file

FIRST_FACT_AT = datetime(2026, 1, 1, tzinfo=UTC)
FACT_EVERY = timedelta(minutes=1)

_FACT = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)
_ARTICLES = frozenset({"a", "an", "the"})
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class ConflictQuestion:
    """A question and its current answers."""

    text: str
    answers: tuple[str, ...]

    def is_answered_by(self, content: str) -> bool:
        """Whether a fact holds one of the answers, both normalised."""
        return any(normalised(answer) in normalised(content) for answer in self.answers)


@dataclass(frozen=True)
class ConflictSet:
    """Facts in the order of their numbers, and questions; `name` is for example `sh_6k`."""

    name: str
    facts: tuple[str, ...]
    questions: tuple[ConflictQuestion, ...]

    @property
    def is_single_hop(self) -> bool:
        """Whether one fact answers each question."""
        return self.name.startswith("sh")

    def items(self) -> list[dict[str, Any]]:
        """The facts for `retain_many`, one after the other in time."""
        return [
            {"content": fact, "at": FIRST_FACT_AT + place * FACT_EVERY, "external_id": str(place)}
            for place, fact in enumerate(self.facts)
        ]

    def stale_facts(self, question: ConflictQuestion) -> frozenset[str]:
        """Earlier facts that equal the fact with the answer up to the answer."""
        answering = self._answering_fact(question)
        if answering is None:
            return frozenset()
        found = self._normalised[answering]
        frame = next(
            found[: found.rindex(normalised(answer))]
            for answer in question.answers
            if normalised(answer) in found
        )
        earlier = zip(self.facts[:answering], self._normalised, strict=False)
        return frozenset(fact for fact, text in earlier if frame and text.startswith(frame))

    def _answering_fact(self, question: ConflictQuestion) -> int | None:
        """The fact that holds the answer and shares most with the question; the last of equals."""
        asked = set(normalised(question.text).split())
        holding = [place for place, fact in enumerate(self.facts) if question.is_answered_by(fact)]
        return max(
            holding,
            key=lambda place: (
                sum(map(self._rarity, asked.intersection(self._normalised[place].split()))),
                place,
            ),
            default=None,
        )

    def _rarity(self, word: str) -> float:
        return math.log(1 + len(self.facts) / self._word_counts[word])

    @cached_property
    def _normalised(self) -> Sequence[str]:
        return [normalised(fact) for fact in self.facts]

    @cached_property
    def _word_counts(self) -> Counter[str]:
        return Counter(word for fact in self._normalised for word in set(fact.split()))


def read_conflicts(folder: Path) -> Iterator[ConflictSet]:
    """The sets of facts of the file."""
    for each in read_file(folder, "conflicts"):
        questions = zip(each["questions"], each["answers"], strict=True)
        yield ConflictSet(
            each["source"].removeprefix("factconsolidation_"),
            tuple(match[2] for match in _FACT.finditer(each["context"])),
            tuple(ConflictQuestion(text, tuple(answers)) for text, answers in questions),
        )


@lru_cache(8_192)
def normalised(text: str) -> str:
    """In small letters, without punctuation and articles, as the authors of such data compare answers."""
    words = text.casefold().translate(_PUNCTUATION).split()
    return " ".join(word for word in words if word not in _ARTICLES)
