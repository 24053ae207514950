"""The parts of bench-mind on tiny data, on a real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from bench.mind_conflicts import measure_conflicts
from bench.mind_data import ConflictQuestion, ConflictSet
from bench.mind_halumem import HaluMemResult
from bench.mind_report import MindResults, report_lines, show
from bench.mind_unrelated import UnrelatedResult, measure_unrelated
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
    assert (conflicts.first_at_once, conflicts.first, conflicts.stale, conflicts.stale_at_once) == (
        1,
        1,
        0,
        0,
    )
    assert (conflicts.outdated_count, conflicts.stored_again_count) == (1, 0)
    assert unrelated == UnrelatedResult(pair_count=60)
    results = MindResults(conflicts=[conflicts], unrelated=unrelated)
    lines = report_lines(results)
    assert all(line.met is not False for line in lines)
    show(Console(quiet=True), results, lines)


def test_what_misses_its_target_is_named() -> None:
    halumem = HaluMemResult(1, 10, 4, 100, 4, 3, 10, 5, 6, 7, 3, 1, 0.5)
    small = KindResult("update", 9, {MNEMIC: [0.5] * 4}, 0.0, None, None)
    unrelated = UnrelatedResult(10, [("a", "b")], [])
    lines = report_lines(MindResults(small=small, halumem=halumem, unrelated=unrelated))
    assert [line.what for line in lines if line.met is False] == [
        "small stores, update, newest first, 9 questions",
        "HaluMem, planted false memories stored",
        "HaluMem, stored again by a second run",
        "unrelated facts superseded, hard pairs",
    ]
