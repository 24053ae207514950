"""Quality of recall in the stores that people build, beside cosine alone and BM25 alone.

    python -m bench.stores DATA [--only small] [--owners N] [--cache FOLDER] [--json PATH]

DATA is a folder with the files of the sets (`bench/stores_data.py`): small stores of facts, notes, chats and
manuals; facts; documents; all of them beside conversations; questions with typing errors; questions in other
languages. Every set goes through the public API in a tenant of its own on an embedded server in a temporary
folder, with the local embedder, no language model and one configuration. The figures are defined in
`bench/stores_metrics.py`.

Prints tables with the targets; the exit code is 1 when one is missed.
"""

import argparse
import asyncio
import inspect
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from bench.cached_embedder import CachedEmbedder
from bench.datasets import MissingDataError
from bench.quality import NEVER_REFUSE, STATEMENT_TIMEOUT_S
from bench.report import as_json
from bench.stores_baselines import StoreBaselines
from bench.stores_data import SETS, Store, StoreQuestion, read_stores
from bench.stores_metrics import (
    RANKS,
    Asked,
    StoreSetResult,
    kind_results,
    store_calibration,
)
from bench.stores_report import MNEMIC, report_lines, show
from mnemic import AsyncMemory
from mnemic.config import load_settings
from mnemic.db.embedded import EmbeddedServer, stop
from mnemic.models.engine import EmbeddingEngine
from mnemic.models.local import MiniLM

LIMIT = RANKS[-1]
PAGE = 1_000


def main() -> int:
    """Measure, print and write the results."""
    options = _options()
    names = [part for name in options.only or SETS for part in SETS[name]]
    try:
        sets = {name: list(read_stores(name, options.data, options.owners)) for name in names}
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        write = partial(_write, options.json)
        results = measure(sets, Path(folder) / "data", options.cache or Path(folder) / "cache", write)
    lines = report_lines(results)
    show(Console(), results, lines)
    return int(any(line.met is False for line in lines))


def _write(path: Path | None, results: Sequence[StoreSetResult]) -> None:
    """After every set, so that a run that fails keeps what it measured."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        measured = {"ranks": RANKS, "sets": [asdict(each) for each in results]}
        path.write_text(as_json(measured, report_lines(results)), "utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure recall in the stores that people build.")
    parser.add_argument("data", type=Path, help="folder with the files of the sets")
    parser.add_argument("--only", action="append", choices=list(SETS), help="only this set; repeatable")
    parser.add_argument("--owners", type=int, metavar="N", help="only the first N owners of each set")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="keep vectors of texts here")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the results to this file")
    return parser.parse_args()


Write = Callable[[Sequence[StoreSetResult]], None]
"""Called with all results so far, after each set."""


def measure(sets: dict[str, list[Store]], data_dir: Path, cache: Path, write: Write) -> list[StoreSetResult]:
    """All sets on one embedded server, which keeps running between them."""
    try:
        with EmbeddedServer.start(data_dir):
            return asyncio.run(_measure(sets, data_dir, cache, write))
    finally:
        stop(data_dir)


async def _measure(
    sets: dict[str, list[Store]], data_dir: Path, cache: Path, write: Write
) -> list[StoreSetResult]:
    engine = CachedEmbedder(MiniLM(), cache)
    settings = load_settings(statement_timeout_s=STATEMENT_TIMEOUT_S)
    try:
        with Progress(console=Console(stderr=True)) as progress:
            results = []
            for name, stores in sets.items():
                async with AsyncMemory(
                    data_dir=data_dir, tenant=name, embedder=engine, settings=settings
                ) as memory:
                    results.append(await StoreBench(memory, engine, progress).measure(name, stores))
                write(results)
            return results
    finally:
        await engine.aclose()


@dataclass(frozen=True)
class StoreBench:
    """Measures sets of stores in an open memory."""

    memory: AsyncMemory
    engine: EmbeddingEngine
    progress: Progress
    times_ms: list[float] = field(default_factory=list)

    async def measure(self, name: str, stores: Sequence[Store]) -> StoreSetResult:
        """Retain all stores, then ask each of them its questions."""
        memory_count = await self._retain_all(name, stores)
        task = self.progress.add_task(f"{name}: asking", total=sum(len(each.questions) for each in stores))
        asked = []
        for store in stores:
            baselines = await self._baselines(store)
            for question in store.questions:
                asked.append(await self._ask(store, question, baselines))
                self.progress.advance(task)
            self._log(f"{name}: {store.owner} asked, {len(asked):,} questions so far")
        p50_ms, p95_ms = np.percentile(self.times_ms, [50, 95])
        return StoreSetResult(
            name=name,
            owner_count=len(stores),
            memory_count=memory_count,
            kinds=kind_results(asked),
            calibration=store_calibration(asked, MNEMIC),
            recall_p50_ms=float(p50_ms),
            recall_p95_ms=float(p95_ms),
        )

    async def _retain_all(self, name: str, stores: Sequence[Store]) -> int:
        """Returns the number of memories with different contents."""
        task = self.progress.add_task(f"{name}: retaining", total=len(stores))
        count = 0
        for store in stores:
            await retain_store(self.memory, store)
            count += len(await self._contents(store.owner))
            self.progress.advance(task)
            self._log(f"{name}: {store.owner} retained")
        return count

    def _log(self, line: str) -> None:
        """For a log: a terminal shows bars."""
        if not self.progress.console.is_terminal:
            self.progress.console.print(line)

    async def _baselines(self, store: Store) -> StoreBaselines:
        return await StoreBaselines.open(store.contents or await self._contents(store.owner), self.engine)

    async def _contents(self, owner: str) -> list[str]:
        """The different contents of an owner's memories, newest first."""
        found: dict[str, None] = {}
        before = None
        while page := await self.memory.memories.list(owner=owner, limit=PAGE, before=before):
            found |= dict.fromkeys(each.content for each in page)
            before = page[-1].memory_id
        return list(found)

    async def _ask(self, store: Store, question: StoreQuestion, baselines: StoreBaselines) -> Asked:
        """Ask as a user does, with refusal off, and in strict mode if there is one."""
        given: dict[str, Any] = {"owner": store.owner, "limit": LIMIT, "at": store.now}
        began_s = time.perf_counter()
        found = await self.memory.recall(question.text, **given)
        self.times_ms.append((time.perf_counter() - began_s) * 1000)
        ranked: dict[str, list[str]] = {}
        if question.answerable:
            unrefused = await self.memory.recall(question.text, refuse_below=NEVER_REFUSE, **given)
            ranked = {MNEMIC: [hit.memory.content for hit in unrefused]}
            ranked |= await baselines.rank(question.text, LIMIT)
        strict_refused = None
        if _HAS_STRICT_MODE:
            strict_refused = (await self.memory.recall(question.text, **given, **_STRICT)).refused
        outcome = getattr(found, "outcome", None)
        return Asked(question, found.confidence, found.refused, outcome, strict_refused, ranked)


# Versions before strict mode and outcomes are measured without them.
_STRICT: dict[str, Any] = {"strict": True}
_HAS_STRICT_MODE = "strict" in inspect.signature(AsyncMemory.recall).parameters


async def retain_store(memory: AsyncMemory, store: Store) -> None:
    """Retain the items of a store and ingest its documents."""
    if store.items:
        await memory.retain_many(store.items, owner=store.owner)
    for document in store.documents:
        await memory.documents.ingest(
            document.title, document.text, media_type="text/markdown", owner=store.owner, wait=True
        )


if __name__ == "__main__":
    sys.exit(main())
