"""The whole of bench-quality on a tiny set, on a real server: what was said is found."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from bench.cached_embedder import CachedEmbedder
from bench.datasets import Dataset, Owner, Question, Turn
from bench.quality import Bench
from bench.quality_report import MNEMIC, overall, show
from mnemic import AsyncMemory
from mnemic.models.testing import HashedWords
from tests.running_folder import running


@pytest.fixture(scope="module")
def bench_folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "bench-quality")


def owner(name: str, said: list[str], asked: str) -> Owner:
    turns = tuple(Turn(str(place), text, f"talk {place}", role="user") for place, text in enumerate(said))
    questions = (
        Question(asked, "plain", frozenset({"0"}), None),
        Question("Why?", "near", frozenset(), None),
    )
    return Owner(name, turns, questions)


TINY = Dataset(
    "tiny",
    "turn",
    (
        owner(
            "sailor", ["The harbour of Rostock froze over.", "Ropes are cheap."], "Which harbour froze over?"
        ),
        owner("baker", ["Rye bread needs sourdough.", "Ovens tick."], "What does rye bread need?"),
    ),
)


async def test_a_set_goes_through_the_public_api(bench_folder: Path, tmp_path: Path) -> None:
    engine = CachedEmbedder(HashedWords(), tmp_path)
    quiet = Console(quiet=True)
    async with AsyncMemory(data_dir=bench_folder, embedder=engine) as memory:
        quality = await Bench(memory, engine, bench_folder, quiet).measure(TINY)
    await engine.aclose()
    assert (quality.owner_count, quality.memory_count) == (2, 4)
    assert overall(quality.rankings[MNEMIC]).values["R@5"] == 1.0
    assert set(quality.rankings) == {MNEMIC, "BM25", "dense", "rank fusion", "score sum"}
    assert quality.refusal is not None
    assert quality.refusal.area == 1.0
    assert (quality.refusal.own_count, quality.refusal.foreign_count) == (2, 2)
    assert 0 <= quality.refusal.calibration.balanced <= 1
    show(quiet, [quality], [])
