"""The parts of bench-mind on tiny data, on a real server."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rich.console import Console

from bench.cached_embedder import CachedEmbedder
from bench.datasets import Dataset, Owner, Question, Turn
from bench.mind_conflicts import measure_conflicts
from bench.mind_data import ConflictQuestion, ConflictSet
from bench.mind_halumem import HaluMemResult
from bench.mind_idle import measure_idle
from bench.mind_report import MindResults, report_lines, show
from bench.mind_undo import measure_undo
from bench.mind_unrelated import UnrelatedResult, measure_unrelated
from bench.quality import Bench
from bench.stores_metrics import KindResult
from bench.stores_report import MNEMIC
from mnemic import AsyncMemory
from mnemic.models.testing import HashedWords
from tests.running_folder import running

CONFLICTS = ConflictSet(
    "sh_6k",
    (
        "The capital of Ruritania is Zenda.",
        "The capital of Graustark is Edelweiss.",
        "Goats climb trees in Ruritania.",
        "The king of Ruritania is Rudolf.",
        "Ruritania is located in the continent of Europe.",
        "Tarlenheim is a city of Ruritania.",
        "The capital of Ruritania is Strelsau.",
    ),
    (ConflictQuestion("What is the capital of Ruritania?", ("Strelsau",)),),
)


@pytest.fixture(scope="module")
def mind_folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "bench-mind")


async def test_conflicts_and_hard_pairs_go_through_the_public_api(mind_folder: Path) -> None:
    async with AsyncMemory(data_dir=mind_folder, embedder=HashedWords()) as memory:
        conflicts = await measure_conflicts(memory, CONFLICTS)
        unrelated = await measure_unrelated(memory, pair_count=60)
        undone = await measure_undo(memory, replace(CONFLICTS, name="sh_undone"))
    assert (conflicts.first_at_once, conflicts.first, conflicts.stale, conflicts.stale_at_once) == (
        1,
        1,
        0,
        0,
    )
    assert (conflicts.outdated_count, conflicts.stored_again_count) == (1, 0)
    assert unrelated == UnrelatedResult(pair_count=60)
    assert (undone.change_count, undone.question_count, undone.changed_answer_count) == (1, 1, 0)
    results = MindResults(conflicts=[conflicts], unrelated=unrelated, undo=undone)
    lines = report_lines(results)
    assert all(line.met is not False for line in lines)
    show(Console(quiet=True), results, lines)


async def test_idle_days_pass_with_all_jobs(mind_folder: Path) -> None:
    turns = (Turn("1", "I adopted a grey cat.", "talk"), Turn("2", "I sold my kayak.", "talk"))
    questions = (Question("What did I adopt?", "any", frozenset({"1"}), datetime(2026, 1, 1, tzinfo=UTC)),)
    dataset = Dataset("tiny", "turn", (Owner("jo", turns, questions),))
    engine = CachedEmbedder(HashedWords(), mind_folder.parent / "bench-mind-vectors")
    async with AsyncMemory(data_dir=mind_folder, embedder=engine, tenant="idle") as memory:
        (stored,) = (await memory.retain("It rains.", owner="other")).memory_ids
        result = await measure_idle(
            Bench(memory, engine, mind_folder, Console(quiet=True)), [dataset], days=4
        )
        aged = await memory.memories.get(stored, owner="other")
    (recall,) = result.recalls
    assert (recall.before, recall.after, recall.asked_later) == (1, 1, 1)
    assert (result.active_count, result.lost_count) == (2, 0)
    assert (result.turn_count, result.lost_turn_count) == (2, 0)
    assert datetime.now(UTC) - aged.created_at > timedelta(days=4)
    assert [line.met for line in report_lines(MindResults(idle=result))] == [True] * 4


def test_what_misses_its_target_is_named() -> None:
    halumem = HaluMemResult(
        user_count=1,
        turn_count=10,
        statement_count=4,
        planted_count=100,
        planted_stored=4,
        gold_count=10,
        stored_again_count=1,
        python_s=0.5,
    )
    small = KindResult("update", 9, {MNEMIC: [0.5] * 4}, 0.0, None, None)
    unrelated = UnrelatedResult(10, [("a", "b")], [])
    lines = report_lines(MindResults(small=small, halumem=halumem, unrelated=unrelated))
    assert [line.what for line in lines if line.met is False] == [
        "small stores, update, newest first, 9 questions",
        "HaluMem, planted false memories stored",
        "HaluMem, stored again by a second run",
        "unrelated facts superseded, hard pairs",
    ]
