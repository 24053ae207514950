"""Search in Mnemic and in other stores: the same texts, vectors, questions and embedder, alternating.

Each store is filled with the same memories in its own process, may settle (build its indexes, vacuum), and is
then asked a few questions at a time, one store after the other. The whole call is measured, including the
embedding of the question by the shared service. The others search by vector alone and return the nearest;
Mnemic searches by words, vector, names and time, ranks all candidates, and checks the tenant.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.competitors import COMPETITORS, MNEMIC, Contestant, NotInstalledError, interpreter_of
from bench.side_by_side import Command, Driver, DriverError, open_driver, write_work
from bench.speed_embedding import embedding_service
from bench.speed_measure import Latency
from bench.speed_texts import AskedQuestion, questions, texts
from bench.speed_vectors import NearVectors, vector_of
from mnemic.models.engine import EmbeddingEngine

SEED = 8_000
LIMITS = (10, 50)
CALLS_PER_TURN = 5
WARM_UP_CALLS = 10

FAIRNESS = {
    "Mnemic": "words, vector, neighbours and time ranked together; HNSW index; tenant checked",
    "mem0": "vectors alone, exact search in the process; lexical search would need a download",
    "Chroma": "vectors alone, HNSW in the process, filtered by owner",
    "LangGraph": "vectors alone, PostgresStore on the same kind of server, HNSW, its default",
    "LangGraph, flat": "the same, exact search, in half precision",
}


@dataclass
class SearchSpeed:
    """Latency and number of hits of a store for each limit; `problem` says why it could not be measured."""

    name: str
    fairness: str
    versions: tuple[str, ...]
    by_limit: dict[int, Latency] = field(default_factory=dict)
    found_per_search: dict[int, float] = field(default_factory=dict)
    problem: str = ""

    def shortfall(self, limit: int) -> str:
        """A remark if the store finds fewer than `limit`, which makes its searches faster; else empty."""
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
    """The speed of all stores, Mnemic first. The stores write into `folder`."""
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
        _OpenStores(drivers, speeds).measure(memory_count, asked)
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
class _OpenStores:
    """All open stores; one that fails is left out from then on."""

    drivers: dict[Contestant, Driver]
    speeds: dict[Contestant, SearchSpeed]

    def measure(self, memory_count: int, asked: Sequence[AskedQuestion]) -> None:
        """Fill and settle each store, then search all of them, alternating."""
        for contestant in self.drivers:
            self._send(contestant, "bulk", start=0, count=memory_count)
            self._send(contestant, "settle")
        per_limit = len(asked) // len(LIMITS)
        for position, limit in enumerate(LIMITS):
            self._search(asked[position * per_limit : (position + 1) * per_limit], limit)

    def _search(self, asked: Sequence[AskedQuestion], limit: int) -> None:
        answers: dict[Contestant, list[dict[str, Any]]] = {contestant: [] for contestant in self.drivers}
        for start in range(0, len(asked), CALLS_PER_TURN):
            queries = [each.question for each in asked[start : start + CALLS_PER_TURN]]
            for contestant, given in answers.items():
                given += self._send(contestant, "search", queries=queries, limit=limit)
        for contestant, given in answers.items():
            speed = self.speeds[contestant]
            if not speed.problem:
                times_ms = [time_ms for answer in given for time_ms in answer["times_ms"]]
                speed.by_limit[limit] = Latency.of(times_ms[WARM_UP_CALLS:])
                speed.found_per_search[limit] = sum(answer["found_count"] for answer in given) / len(asked)

    def _send(self, contestant: Contestant, what: Command, **details: object) -> list[dict[str, Any]]:
        """The reply of the driver; empty if it fails or has failed before."""
        if self.speeds[contestant].problem:
            return []
        try:
            return [self.drivers[contestant].send(what, **details)]
        except DriverError as error:
            self.speeds[contestant].problem = str(error)
            return []
