"""What every store is given to do: the same texts with the same ready vectors, in bulk and one by one.

A driver is a process that keeps its store open and does what it is told, a line of JSON at a time:

    {"do": "bulk", "start": 0, "count": 10000}    →  {"count": 10000, "took_s": 1.9}
    {"do": "single", "start": 10000, "count": 25}  →  {"count": 25, "took_s": 0.1}

So the benchmark can let all stores take turns, in short turns, and a slow minute of the machine hits all of
them. Nothing is imported here but numpy: this runs in environments that have never heard of Mnemic.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

# A store that is slow in bulk stops there; what it did until then makes its rate.
BULK_MAX_S = 120.0


@dataclass(frozen=True)
class Work:
    """Texts and vectors, where to keep them, and for those who need it a database and which way to go."""

    texts: list[str]
    vectors: npt.NDArray[np.float32]
    folder: Path
    conninfo: str
    variant: str


@dataclass(frozen=True)
class Store:
    """How a driver adds texts, by their places in `Work.texts`; so many in one call as it can or should."""

    add_many: Callable[[Sequence[int]], object]
    add_one: Callable[[int], object]
    bulk_max: int


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
    options = parser.parse_args()
    texts = json.loads((options.work / "texts.json").read_text("utf-8"))
    vectors = np.load(options.work / "vectors.npy")
    return Work(texts, vectors, options.store, options.conninfo, options.variant)


def _done(store: Store, order: dict[str, Any]) -> dict[str, float]:
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
