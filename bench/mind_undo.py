"""What applying and undoing a curation run costs, and whether recall's answers come back.

The facts of one set of conflicts are stored and compared; the curator proposes to supersede old ones. All
proposals are applied in one transaction, then undone in one. The same questions are asked before and after.
"""

import time
from dataclasses import dataclass
from typing import Any

from bench.mind_conflicts import HITS, compare_all
from bench.mind_data import ConflictSet
from bench.quality import NEVER_REFUSE
from mnemic import AsyncMemory

QUESTIONS = 25


@dataclass(frozen=True)
class UndoResult:
    """Wall times of one changeset, and how many of the questions have other hits than before it."""

    change_count: int
    apply_s: float
    undo_s: float
    question_count: int
    changed_answer_count: int


async def measure_undo(memory: AsyncMemory, conflicts: ConflictSet) -> UndoResult:
    """Propose, apply and undo."""
    owner = conflicts.name
    await memory.retain_many(conflicts.items(), owner=owner)
    await compare_all(memory, owner, len(conflicts.facts))
    before = await _answers(memory, conflicts)
    run = await memory.curation.propose(kinds=["supersede"], owner=owner)
    assert run.changeset_id is not None, "some facts are outdated"
    await memory.curation.approve(run.changeset_id, owner=owner)
    began_s = time.perf_counter()
    applied = await memory.curation.apply(run.changeset_id, owner=owner)
    applied_s = time.perf_counter()
    await memory.curation.undo(run.changeset_id, owner=owner)
    undone_s = time.perf_counter()
    after = await _answers(memory, conflicts)
    return UndoResult(
        change_count=applied.change_counts.get("applied", 0),
        apply_s=applied_s - began_s,
        undo_s=undone_s - applied_s,
        question_count=len(before),
        changed_answer_count=sum(first != second for first, second in zip(before, after, strict=True)),
    )


async def _answers(memory: AsyncMemory, conflicts: ConflictSet) -> list[list[str]]:
    options: dict[str, Any] = {"owner": conflicts.name, "limit": HITS, "refuse_below": NEVER_REFUSE}
    found = [
        await memory.recall(each.text, record=False, **options) for each in conflicts.questions[:QUESTIONS]
    ]
    return [[hit.memory.content for hit in each] for each in found]
