"""What every store is given to do: the same texts with the same ready vectors, in bulk and one by one.

A driver opens its store and hands over two functions. The store is filled in bulk first; single additions
go on top of that, as they do in the life of an agent. Nothing is imported here but numpy: this runs in
environments that have never heard of Mnemic.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

WARM_UP_COUNT = 5


@dataclass(frozen=True)
class Work:
    """Texts and vectors, where to keep them, and how to reach the database for those who need one."""

    texts: list[str]
    vectors: npt.NDArray[np.float32]
    folder: Path
    conninfo: str


@dataclass(frozen=True)
class Store:
    """How a driver adds texts to its store, by their places in `Work.texts`."""

    add_many: Callable[[Sequence[int]], None]
    add_one: Callable[[int], None]


def run(open_store: Callable[[Work], AbstractContextManager[Store]]) -> None:
    """Do the work of the command line and write down how long it took."""
    parser = argparse.ArgumentParser(description="Add texts with ready vectors to a store.")
    parser.add_argument("work", type=Path, help="folder with texts.json and vectors.npy")
    parser.add_argument("store", type=Path, help="empty folder for the store")
    parser.add_argument("result", type=Path, help="where to write the times")
    parser.add_argument("--bulk-count", type=int, required=True)
    parser.add_argument("--conninfo", default="")
    options = parser.parse_args()
    texts = json.loads((options.work / "texts.json").read_text("utf-8"))
    work = Work(texts, np.load(options.work / "vectors.npy"), options.store, options.conninfo)
    with open_store(work) as store:
        result = _timed(store, options.bulk_count, len(texts))
    options.result.write_text(json.dumps(result))


def _timed(store: Store, bulk_count: int, count: int) -> dict[str, Any]:
    """The first texts warm the store up, `bulk_count` go in bulk, the rest one by one."""
    places = iter(range(count))
    for _ in range(WARM_UP_COUNT):
        store.add_one(next(places))
    bulk = [next(places) for _ in range(bulk_count)]
    began_s = time.perf_counter()
    store.add_many(bulk)
    bulk_s = time.perf_counter() - began_s
    one_s = []
    for place in places:
        began_s = time.perf_counter()
        store.add_one(place)
        one_s.append(time.perf_counter() - began_s)
    return {"bulk_count": bulk_count, "bulk_s": bulk_s, "one_s": one_s}
