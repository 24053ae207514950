"""Facts that replace earlier ones: does recall give the value that holds now, and keep old ones away?

Each set of numbered facts is one owner; the facts are retained in order, each as a memory a minute later than
the one before it. Then the questions are asked, refusal off. *Current first*: the first hit holds the answer
(normalised substring). *Stale among the first five*: an earlier fact that equals the one with the answer, up
to the answer, is among the first five hits. *Asked at once* measures the same before anything was compared:
recall has to see by itself which of its hits are stale.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from bench.mind_data import ConflictQuestion, ConflictSet
from bench.quality import NEVER_REFUSE
from mnemic import AsyncMemory
from mnemic.record.outdated_memories import OutdatedMemory

HITS = 10
STALE_HITS = 5
MARKS_MAX = 1_000
COMPARED_PER_CALL = 2_000
"""A call that lists outdated memories compares at most so many pending ones first."""


@dataclass(frozen=True)
class ConflictResult:
    """Shares of the questions of one set.

    `stored_again_count` is how many memories a second run of the same calls stored.
    """

    name: str
    fact_count: int
    question_count: int
    is_single_hop: bool
    first_at_once: float
    stale_at_once: float
    first: float
    among_five: float
    among_ten: float
    stale: float
    outdated_count: int
    stored_again_count: int


@dataclass(frozen=True)
class _Answered:
    question: ConflictQuestion
    contents: Sequence[str]
    stale: frozenset[str]

    def is_among(self, count: int) -> bool:
        return any(map(self.question.is_answered_by, self.contents[:count]))

    @property
    def has_stale(self) -> bool:
        return not self.stale.isdisjoint(self.contents[:STALE_HITS])


async def measure_conflicts(memory: AsyncMemory, conflicts: ConflictSet) -> ConflictResult:
    """Retain the facts of a set, ask its questions at once and after comparing, and retain again."""
    owner = conflicts.name
    await memory.retain_many(conflicts.items(), owner=owner)
    at_once = await _ask_all(memory, conflicts)
    marks = await compare_all(memory, owner, len(conflicts.facts))
    answered = await _ask_all(memory, conflicts)
    again = await memory.retain_many(conflicts.items(), owner=owner)
    return ConflictResult(
        name=conflicts.name,
        fact_count=len(conflicts.facts),
        question_count=len(conflicts.questions),
        is_single_hop=conflicts.is_single_hop,
        first_at_once=fmean(each.is_among(1) for each in at_once),
        stale_at_once=fmean(each.has_stale for each in at_once),
        first=fmean(each.is_among(1) for each in answered),
        among_five=fmean(each.is_among(STALE_HITS) for each in answered),
        among_ten=fmean(each.is_among(HITS) for each in answered),
        stale=fmean(each.has_stale for each in answered),
        outdated_count=len({mark.memory_id for mark in marks}),
        stored_again_count=again.stored_count,
    )


async def compare_all(memory: AsyncMemory, owner: str, memory_count: int) -> Sequence[OutdatedMemory]:
    """Have all memories of an owner compared; returns the marks, as far as one page shows."""
    marks: Sequence[OutdatedMemory] = ()
    for _ in range(1 + memory_count // COMPARED_PER_CALL):
        marks = await memory.memories.outdated(owner=owner, limit=MARKS_MAX)
    return marks


async def _ask_all(memory: AsyncMemory, conflicts: ConflictSet) -> list[_Answered]:
    answered = []
    for question in conflicts.questions:
        found = await memory.recall(
            question.text, owner=conflicts.name, limit=HITS, refuse_below=NEVER_REFUSE
        )
        contents = [hit.memory.content for hit in found]
        stale = conflicts.stale_facts(question) if conflicts.is_single_hop else frozenset[str]()
        answered.append(_Answered(question, contents, stale))
    return answered
