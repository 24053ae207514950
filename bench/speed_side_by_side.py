"""Search in Mnemic beside other stores: the same texts, vectors, questions and embedder, taking turns.

Each store is filled with the same memories in a process of its own, may settle (make its indexes, tidy up),
and is then asked a few questions at a time, one store after the other. What is measured is the whole call,
embedding the question by the shared service included. The others search by vector alone and give back what
lies nearest; Mnemic searches by words, meaning, names and time, ranks all of it, and checks the tenant.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.competitors import COMPETITORS, MNEMIC, Contestant, NotInstalledError, interpreter_of
from bench.side_by_side import Driver, DriverError, Order, open_driver, write_work
from bench.speed_embedding import embedding_service
from bench.speed_measure import Latency
from bench.speed_texts import Asked, questions, texts
from bench.speed_vectors import NearVectors, vector_of
from mnemic.models.engine import EmbeddingEngine

SEED = 8_000
LIMITS = (10, 50)
CALLS_PER_TURN = 5
WARM_UP_CALLS = 10

FAIRNESS = {
    "Mnemic": "words, meaning, neighbours and time ranked together; HNSW index; tenant checked",
    "mem0": "vectors alone, compared one by one in the process; words would need a download",
    "Chroma": "vectors alone, HNSW in the process, filtered by owner",
    "LangGraph": "vectors alone, PostgresStore on the same kind of server, HNSW, its default",
    "LangGraph, flat": "the same, compared one by one, in half precision",
}


@dataclass
class SearchSpeed:
    """How long a store's searches took for each limit and how many they found; or why there are none."""

    name: str
    fairness: str
    versions: tuple[str, ...]
    by_limit: dict[int, Latency] = field(default_factory=dict)
    found_per_search: dict[int, float] = field(default_factory=dict)
    problem: str = ""

    def shortfall(self, limit: int) -> str:
        """How many it found where fewer than were asked for, else nothing: that, too, makes a search fast."""
        found = self.found_per_search.get(limit, limit)
        return f" ({self.name} finds {found:.0f} of {limit})" if found < limit else ""


def measure_search_side_by_side(
    folder: Path,
    model: EmbeddingEngine,
    *,
    memory_count: int,
    call_count: int,
    time_left_s: Callable[[], float],
) -> list[SearchSpeed]:
    """Everybody's speed, Mnemic first. `folder` is for whatever the stores write."""
    stored = list(texts(memory_count, seed=SEED))
    write_work(folder / "work", stored, np.stack([vector_of(text) for text in stored]))
    asked = questions((WARM_UP_CALLS + call_count) * len(LIMITS), of_count=memory_count, seed=SEED)
    engine = NearVectors(model, {each.question: each.about for each in asked})
    speeds = {
        each: SearchSpeed(each.name, FAIRNESS[each.name], each.requirements)
        for each in (MNEMIC, *COMPETITORS)
    }
    with ExitStack() as stack:
        socket = stack.enter_context(embedding_service(engine, folder / "embedder"))
        drivers: dict[Contestant, Driver] = {}
        for contestant, interpreter in _interpreters(speeds, time_left_s):
            opened = open_driver(
                contestant, interpreter, folder / "work", folder / "stores", time_left_s, socket
            )
            drivers[contestant] = stack.enter_context(opened)
        _Turns(drivers, speeds).measure(memory_count, asked)
    return list(speeds.values())


def _interpreters(
    speeds: dict[Contestant, SearchSpeed], time_left_s: Callable[[], float]
) -> Iterator[tuple[Contestant, Path]]:
    for contestant, speed in speeds.items():
        try:
            yield contestant, interpreter_of(contestant, time_left_s())
        except NotInstalledError as error:
            speed.problem = str(error)


@dataclass(frozen=True)
class _Turns:
    """All open stores; one that fails is out from then on."""

    drivers: dict[Contestant, Driver]
    speeds: dict[Contestant, SearchSpeed]

    def measure(self, memory_count: int, asked: Sequence[Asked]) -> None:
        """Fill and settle each, then ask all of them in turns."""
        for contestant in self.drivers:
            self._order(contestant, "bulk", start=0, count=memory_count)
            self._order(contestant, "settle")
        per_limit = len(asked) // len(LIMITS)
        for place, limit in enumerate(LIMITS):
            self._search(asked[place * per_limit : (place + 1) * per_limit], limit)

    def _search(self, asked: Sequence[Asked], limit: int) -> None:
        answers: dict[Contestant, list[dict[str, Any]]] = {contestant: [] for contestant in self.drivers}
        for start in range(0, len(asked), CALLS_PER_TURN):
            queries = [each.question for each in asked[start : start + CALLS_PER_TURN]]
            for contestant, given in answers.items():
                given += self._order(contestant, "search", queries=queries, limit=limit)
        for contestant, given in answers.items():
            speed = self.speeds[contestant]
            if not speed.problem:
                times_ms = [time_ms for answer in given for time_ms in answer["times_ms"]]
                speed.by_limit[limit] = Latency.of(times_ms[WARM_UP_CALLS:])
                speed.found_per_search[limit] = sum(answer["found_count"] for answer in given) / len(asked)

    def _order(self, contestant: Contestant, what: Order, **details: object) -> list[dict[str, Any]]:
        """What the driver answers; nothing if it fails or has failed before."""
        if self.speeds[contestant].problem:
            return []
        try:
            return [self.drivers[contestant].order(what, **details)]
        except DriverError as error:
            self.speeds[contestant].problem = str(error)
            return []
