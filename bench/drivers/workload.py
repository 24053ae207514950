"""The protocol of the drivers: every store adds the same texts with the same vectors, and searches.

A driver is a process that keeps its store open and runs commands, one line of JSON each:

    {"do": "bulk", "start": 0, "count": 10000}            →  {"count": 10000, "took_s": 1.9}
    {"do": "single", "start": 10000, "count": 25}         →  {"count": 25, "took_s": 0.1}
    {"do": "settle"}                                      →  {"took_s": 2.5}
    {"do": "search", "queries": ["…", "…"], "limit": 10}  →  {"times_ms": [12.1, 11.8], "found_count": 20}

So the benchmark can alternate between the stores at short intervals, and a slow minute of the machine affects
all of them. A service that all stores share embeds the queries (`bench/speed_embedding.py`), inside the
measured time. This file imports only numpy, because it runs in environments without Mnemic.
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

# A slow store stops after this time; its rate is computed from the texts added until then.
BULK_MAX_S = 120.0


@dataclass(frozen=True)
class Work:
    """Texts and vectors, the folder of the store, and for some drivers a database and a variant.

    `embedder` is the socket of the shared service; searching needs it.
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
    """How a driver adds texts, by their positions in `Work.texts`, at most `bulk_max` in one call.

    `search` takes a query and a limit, and returns the number of hits. `settle` does now what the store would
    do later in the background after many additions.
    """

    add_many: Callable[[Sequence[int]], object]
    add_one: Callable[[int], object]
    bulk_max: int
    search: Callable[[str, int], int]
    settle: Callable[[], object] = lambda: None


def serve(open_store: Callable[[Work], AbstractContextManager[Store]]) -> None:
    """Open the store and run the commands from standard input until it ends."""
    # Libraries may print to standard output; keep it for replies only.
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    with open_store(_work()) as store:
        for line in sys.stdin:
            print(json.dumps(run_command(store, json.loads(line))), file=replies)


def _work() -> Work:
    parser = argparse.ArgumentParser(description="Add texts with precomputed vectors to a store.")
    parser.add_argument("work", type=Path, help="folder with texts.json and vectors.npy")
    parser.add_argument("store", type=Path, help="empty folder for the store")
    parser.add_argument("--conninfo", default="")
    parser.add_argument("--variant", default="")
    parser.add_argument("--embedder", default="", help="socket of the service that embeds queries")
    options = parser.parse_args()
    texts = json.loads((options.work / "texts.json").read_text("utf-8"))
    vectors = np.load(options.work / "vectors.npy")
    return Work(texts, vectors, options.store, options.conninfo, options.variant, options.embedder)


def run_command(store: Store, command: dict[str, Any]) -> dict[str, Any]:
    if command["do"] == "search":
        return _search(store, command)
    if command["do"] == "settle":
        began_s = time.perf_counter()
        store.settle()
        return {"took_s": time.perf_counter() - began_s}
    return _add(store, command)


def _search(store: Store, command: dict[str, Any]) -> dict[str, Any]:
    times_ms, found_count = [], 0
    for query in command["queries"]:
        began_s = time.perf_counter()
        found_count += store.search(query, command["limit"])
        times_ms.append((time.perf_counter() - began_s) * 1000)
    return {"times_ms": times_ms, "found_count": found_count}


def _add(store: Store, command: dict[str, Any]) -> dict[str, float]:
    start, end = command["start"], command["start"] + command["count"]
    began_s = time.perf_counter()
    count = 0
    if command["do"] == "bulk":
        while start + count < end and time.perf_counter() - began_s < BULK_MAX_S:
            positions = range(start + count, min(start + count + store.bulk_max, end))
            store.add_many(positions)
            count += len(positions)
    else:
        for position in range(start, end):
            store.add_one(position)
            count += 1
    return {"count": count, "took_s": time.perf_counter() - began_s}
