"""The whole of bench-stores on tiny stores, on a real server."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress

from bench.stores import StoreBench
from bench.stores_data import FOREIGN, Passage, Store, StoredDocument, StoreQuestion
from bench.stores_metrics import EVERYTHING
from bench.stores_report import MNEMIC, report_lines, show
from mnemic import AsyncMemory
from mnemic.models.testing import HashedWords
from tests.running_folder import running

MANUAL = "# Kiln\n\nThe kiln fires stoneware at 1240 degrees.\n\nClean the shelves every month."
POTTER = Store(
    "potter",
    items=({"content": "Ines sells bowls in Porto."}, {"content": "Ines dislikes coriander."}),
    documents=(StoredDocument("Kiln", MANUAL),),
    questions=(
        StoreQuestion("What does Ines sell?", "people", frozenset({"Ines sells bowls in Porto."})),
        StoreQuestion("At how many degrees?", "documents", passage=Passage.of(MANUAL, "1240")),
        StoreQuestion("Who won the regatta?", FOREIGN),
    ),
)


@pytest.fixture(scope="module")
def stores_folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "bench-stores")


async def test_a_set_of_stores_goes_through_the_public_api(stores_folder: Path) -> None:
    engine, quiet = HashedWords(), Console(quiet=True)
    stores = [POTTER, replace(POTTER, owner="apprentice")]
    async with AsyncMemory(data_dir=stores_folder, embedder=engine) as memory:
        result = await StoreBench(memory, engine, Progress(console=quiet)).measure("tiny", stores)
    assert result.owner_count == 2
    assert result.memory_count % 2 == 0
    assert [kind.kind for kind in result.kinds] == [EVERYTHING, "people", "documents", FOREIGN]
    assert result.kinds[0].question_count == 4
    for kind in result.kinds[:3]:
        assert set(kind.hits) == {MNEMIC, "cosine", "BM25"}
        assert kind.hits[MNEMIC][-1] == 1.0
    lines = report_lines([result])
    assert [line.what for line in lines] == [
        "tiny, answerable refused",
        "tiny, calibration error of confidence",
        "tiny, calibration error of confidence, as asked",
    ]
    show(quiet, [result], lines)
