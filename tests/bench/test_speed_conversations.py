"""Recall over repeated real conversations: the turns, the alternation, and the CPU time."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from bench.cpu_time import find_postmaster, postgres_cpu_ms, python_cpu_ms, spent_between
from bench.datasets import Dataset, Owner, Question, Turn
from bench.drivers.recall_conversations import ConversationRecalls
from bench.side_by_side import Driver
from bench.speed_conversations import CALLS_PER_TURN, WARM_UP_CALLS, measure_codes, questions, repeated_turns
from mnemic import AsyncMemory
from mnemic.models.testing import HashedWords
from tests.running_folder import running


def owner(name: str, *asked: str) -> Owner:
    turns = tuple(Turn(f"D1:{place}", f"{name} {place}", "session 1", name=name) for place in range(2))
    return Owner(name, turns, tuple(Question(each, "x", frozenset({"D1:0"}), None) for each in asked))


TALKS = Dataset("LoCoMo", "turn", (owner("Ada", "a?", "b?", "c?"), owner("Bo", "a?", "d?")))


@pytest.fixture(scope="module")
def talks_folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "bench-talks")


def test_conversations_are_repeated_under_other_names_until_there_are_enough() -> None:
    turns = repeated_turns(TALKS, 7)
    assert [turn["content"] for turn in turns[:4]] == ["Ada 0", "Ada 1", "Bo 0", "Bo 1"]
    assert [turn["content"] for turn in turns[4:]] == ["Ada 0", "Ada 1", "Bo 0"]
    assert {turn["conversation"] for turn in turns} == {
        *("Ada, session 1, copy 1", "Bo, session 1, copy 1", "Ada, session 1, copy 2"),
        "Bo, session 1, copy 2",
    }


def test_questions_of_all_owners_take_turns_and_none_comes_twice() -> None:
    assert questions(TALKS) == ["a?", "b?", "d?", "c?"]


class Scripted:
    """A driver whose calls all take the same time."""

    def __init__(self, name: str, log: list[tuple[str, str]], cpu_ms: float) -> None:
        self._name, self._log, self._cpu_ms = name, log, cpu_ms

    def send(self, what: str, **details: Any) -> dict[str, Any]:
        if what == "fill":
            return {"count": 10, "took_s": 1.0}
        self._log.append((self._name, details["queries"][0]))
        count = len(details["queries"])
        return {
            "times_ms": [5.0] * count,
            "python_cpu_ms": self._cpu_ms * count,
            "postgres_cpu_ms": 1.0 * count,
        }


def test_both_codes_get_the_same_questions_in_turn() -> None:
    log: list[tuple[str, str]] = []
    drivers = {name: cast(Driver, Scripted(name, log, cpu)) for name, cpu in (("new", 2.0), ("old", 4.0))}
    asked = [str(place) for place in range(2 * (WARM_UP_CALLS + 2 * CALLS_PER_TURN))]
    new, old = measure_codes(drivers, asked, 2 * CALLS_PER_TURN)
    assert [name for name, _ in log[:4]] == ["new", "old", "old", "new"]
    assert [query for name, query in log if name == "new"] == [query for name, query in log if name == "old"]
    assert (new.by_limit[10].cpu_ms, old.by_limit[50].cpu_ms) == (3.0, 5.0)
    assert new.by_limit[10].latency.count == 2 * CALLS_PER_TURN


async def test_recalls_come_with_their_cpu_time(talks_folder: Path) -> None:
    async with AsyncMemory(data_dir=talks_folder, embedder=HashedWords()) as memory:
        recalls = ConversationRecalls(memory, talks_folder, repeated_turns(TALKS, 8))
        assert (await recalls.run({"do": "fill"}))["count"] == 8
        done = await recalls.run({"do": "recall", "queries": ["Ada 0", "Bo 1"], "limit": 3})
    assert len(done["times_ms"]) == 2
    assert done["found_count"] == 6
    assert done["python_cpu_ms"] > 0
    assert done["postgres_cpu_ms"] > 0


def test_time_counts_from_the_first_reading_and_what_ended_is_left_out(talks_folder: Path) -> None:
    assert spent_between({1: 5.0, 2: 9.0}, {1: 7.0, 3: 1.5}) == 3.5
    assert python_cpu_ms() > 0
    postmaster_pid = find_postmaster(talks_folder)
    assert postmaster_pid is not None
    assert len(postgres_cpu_ms(postmaster_pid)) > 1
    assert os.getpid() not in postgres_cpu_ms(postmaster_pid)
