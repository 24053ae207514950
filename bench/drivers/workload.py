"""What every store is given to do: take the same texts with the same ready vectors, and search.

A driver is a process that keeps its store open and does what it is told, a line of JSON at a time:

    {"do": "bulk", "start": 0, "count": 10000}            →  {"count": 10000, "took_s": 1.9}
    {"do": "single", "start": 10000, "count": 25}         →  {"count": 25, "took_s": 0.1}
    {"do": "settle"}                                      →  {"took_s": 2.5}
    {"do": "search", "queries": ["…", "…"], "limit": 10}  →  {"times_ms": [12.1, 11.8], "found_count": 20}

So the benchmark can let all stores take turns, in short turns, and a slow minute of the machine hits all of
them. What is searched for is embedded by a service that all stores share (`bench/speed_embedding.py`), inside
the time that is measured. Nothing is imported here but numpy: this runs in environments that have never heard
of Mnemic.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

# A store that is slow in bulk stops there; what it did until then makes its rate.
BULK_MAX_S = 120.0


@dataclass(frozen=True)
class Work:
    """Texts and vectors, where to keep them, and for those who need it a database and which way to go.

    `embedder` is where the shared service listens; without one nothing can be searched.
    """

    texts: list[str]
    vectors: npt.NDArray[np.float32]
    folder: Path
    conninfo: str
    variant: str
    embedder: str

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """The vector to search with, from the shared service."""
        self._service.send_bytes(text.encode())
        return np.frombuffer(self._service.recv_bytes(), np.float32)

    @cached_property
    def _service(self) -> "Connection[bytes, bytes]":
        return Client(self.embedder, family="AF_UNIX")


@dataclass(frozen=True)
class Store:
    """How a driver adds texts, by their places in `Work.texts`, so many in one call as it can or should.

    `search` takes a query and how many are wanted, and says how many it found. `settle` makes at once what
    the store would make by itself, sooner or later, after so much was added.
    """

    add_many: Callable[[Sequence[int]], object]
    add_one: Callable[[int], object]
    bulk_max: int
    search: Callable[[str, int], int]
    settle: Callable[[], object] = lambda: None


def serve(open_store: Callable[[Work], AbstractContextManager[Store]]) -> None:
    """Open the store and do what standard input says until it ends."""
    # Libraries like to print; the answers must stand alone.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    with open_store(_work()) as store:
        for line in sys.stdin:
            print(json.dumps(_done(store, json.loads(line))), file=answers)


def _work() -> Work:
    parser = argparse.ArgumentParser(description="Add texts with ready vectors to a store.")
    parser.add_argument("work", type=Path, help="folder with texts.json and vectors.npy")
    parser.add_argument("store", type=Path, help="empty folder for the store")
    parser.add_argument("--conninfo", default="")
    parser.add_argument("--variant", default="")
    parser.add_argument("--embedder", default="", help="socket of the service that embeds queries")
    options = parser.parse_args()
    texts = json.loads((options.work / "texts.json").read_text("utf-8"))
    vectors = np.load(options.work / "vectors.npy")
    return Work(texts, vectors, options.store, options.conninfo, options.variant, options.embedder)


def _done(store: Store, order: dict[str, Any]) -> dict[str, Any]:
    if order["do"] == "search":
        return _searched(store, order)
    if order["do"] == "settle":
        began_s = time.perf_counter()
        store.settle()
        return {"took_s": time.perf_counter() - began_s}
    return _added(store, order)


def _searched(store: Store, order: dict[str, Any]) -> dict[str, Any]:
    times_ms, found_count = [], 0
    for query in order["queries"]:
        began_s = time.perf_counter()
        found_count += store.search(query, order["limit"])
        times_ms.append((time.perf_counter() - began_s) * 1000)
    return {"times_ms": times_ms, "found_count": found_count}


def _added(store: Store, order: dict[str, Any]) -> dict[str, float]:
    start, end = order["start"], order["start"] + order["count"]
    began_s = time.perf_counter()
    count = 0
    if order["do"] == "bulk":
        while start + count < end and time.perf_counter() - began_s < BULK_MAX_S:
            places = range(start + count, min(start + count + store.bulk_max, end))
            store.add_many(places)
            count += len(places)
    else:
        for place in range(start, end):
            store.add_one(place)
            count += 1
    return {"count": count, "took_s": time.perf_counter() - began_s}
