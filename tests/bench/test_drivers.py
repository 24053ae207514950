"""What drivers do with their orders, and the embedder that they share."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bench.drivers.workload import Store, Work, run_command
from bench.speed_embedding import embedding_service
from mnemic.models.testing import HashedWords


class Listed:
    """A store that is a list."""

    def __init__(self) -> None:
        self.places: list[int] = []
        self.calls: list[int] = []
        self.is_settled = False

    def add(self, places: Sequence[int]) -> None:
        self.calls.append(len(places))
        self.places += places

    def search(self, query: str, limit: int) -> int:
        return min(limit, len(self.places))

    def settle(self) -> None:
        self.is_settled = True

    def store(self) -> Store:
        return Store(
            add_many=self.add,
            add_one=lambda place: self.add([place]),
            bulk_max=4,
            search=self.search,
            settle=self.settle,
        )


@pytest.fixture
def listed() -> Listed:
    return Listed()


def test_a_bulk_is_added_in_calls_of_the_size_that_the_store_takes(listed: Listed) -> None:
    assert run_command(listed.store(), {"do": "bulk", "start": 2, "count": 10})["count"] == 10
    assert listed.places == list(range(2, 12))
    assert listed.calls == [4, 4, 2]


def test_single_ones_are_added_one_by_one(listed: Listed) -> None:
    assert run_command(listed.store(), {"do": "single", "start": 0, "count": 3})["count"] == 3
    assert listed.calls == [1, 1, 1]


def test_each_search_has_a_time_and_counts_what_it_found(listed: Listed) -> None:
    listed.add(range(7))
    done = run_command(listed.store(), {"do": "search", "queries": ["a", "b"], "limit": 5})
    assert len(done["times_ms"]) == 2
    assert done["found_count"] == 10


def test_a_store_may_settle(listed: Listed) -> None:
    assert run_command(listed.store(), {"do": "settle"})["took_s"] >= 0
    assert listed.is_settled


async def test_all_stores_get_the_vectors_of_the_shared_embedder(tmp_path: Path) -> None:
    model = HashedWords()
    expected = await model.embed(["a kite", "ein Drächen"], input_type="query")
    with embedding_service(model, tmp_path / "embedder") as socket:
        works = [Work([], expected, tmp_path, "", "", socket) for _ in range(2)]
        for work in works:
            np.testing.assert_array_equal(work.embed_query("a kite"), expected[0])
        np.testing.assert_array_equal(works[0].embed_query("ein Drächen"), expected[1])
        for work in works:
            work._service.close()
