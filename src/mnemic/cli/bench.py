"""`mnemic bench`: measure retain and recall on this machine, in a temporary folder.

It starts an embedded server, retains short facts one by one and many at once, and asks about some of them.
The facts are made up and the same everywhere. It is a quick look; docs/benchmarks.md has the thorough
ones.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.progress import Progress

from mnemic.cli.options import Embedder, Json
from mnemic.cli.output import err, out, print_json, table
from mnemic.config import load_settings
from mnemic.db.embedded import stop
from mnemic.sdk.memory import AsyncMemory

SINGLES = 100
MEMORIES_MAX = 100_000
CALLS_MAX = 100_000
OWNER = "bench"
SEED = 42
NAMES = ("Alice", "Bob", "Carol", "Dave", "Erin", "Frank", "Grace", "Heidi")
VERBS = ("likes", "bought", "sold", "lost", "repaired", "painted", "described", "borrowed")
THINGS = ("the cello", "a red bike", "the old piano", "two lamps", "a map of Berlin", "the garden chair")
TIMES = ("on Monday", "last spring", "in March", "before the trip", "at the market", "after work")


@dataclass(frozen=True)
class Measured:
    """The time of many calls, or of one call with many items, which has no spread."""

    what: str
    count: int
    per_second: float
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None


def bench(
    memories: Annotated[
        int, typer.Option(min=1, max=MEMORIES_MAX, help="Memories to store at once.")
    ] = 1_000,
    queries: Annotated[int, typer.Option(min=2, max=CALLS_MAX, help="Questions to ask.")] = 200,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Measure the speed of retain and recall, on an embedded server in a temporary folder."""
    with TemporaryDirectory(prefix="mnemic-bench-") as folder, Progress(console=err, disable=json) as bar:
        try:
            measured = asyncio.run(_measure(Path(folder), memories, queries, embedder, bar))
        finally:
            stop(Path(folder))  # The folder is deleted next, so the server must have stopped.
    if json:
        print_json([asdict(each) for each in measured])
    else:
        _print_table(measured)


async def _measure(
    folder: Path, memory_count: int, query_count: int, embedder: str | None, bar: Progress
) -> list[Measured]:
    """One call that warms up, then the measured ones."""
    facts = _facts()
    settings = load_settings(data_dir=folder).model_copy(update={"database_url": None})
    async with AsyncMemory(settings=settings, owner=OWNER, embedder=embedder, process="bench") as memory:
        await memory.retain(next(facts))
        singles = await _time_calls(bar, "retain", [next(facts) for _ in range(SINGLES)], memory.retain)
        many = await _time_many(bar, memory, [next(facts) for _ in range(memory_count)])
        questions = [f"Who {next(facts).split(' ', 1)[1]}" for _ in range(query_count)]
        await memory.recall(questions[0])
        return [singles, many, await _time_calls(bar, "recall", questions, memory.recall)]


async def _time_many(bar: Progress, memory: AsyncMemory, texts: list[str]) -> Measured:
    task = bar.add_task("retain_many", total=len(texts))
    started = time.perf_counter()
    await memory.retain_many(texts, progress=lambda done: bar.update(task, completed=done))
    return Measured("retain_many", len(texts), len(texts) / (time.perf_counter() - started))


async def _time_calls(
    bar: Progress, what: str, texts: list[str], call: Callable[[str], Awaitable[object]]
) -> Measured:
    times_ms = []
    for text in bar.track(texts, description=what):
        started = time.perf_counter()
        await call(text)
        times_ms.append((time.perf_counter() - started) * 1000)
    cuts = quantiles(times_ms, n=100, method="inclusive")
    return Measured(what, len(texts), 1000 * len(texts) / sum(times_ms), cuts[49], cuts[94], cuts[98])


def _facts() -> Iterator[str]:
    """Short sentences, all different, the same in every run."""
    chosen = random.Random(SEED)  # noqa: S311 (nothing secret is made of it)
    number = 0
    while True:
        number += 1
        words = (chosen.choice(part) for part in (NAMES, VERBS, THINGS, TIMES))
        yield f"{' '.join(words)}, as note {number} says."


def _print_table(measured: list[Measured]) -> None:
    listing = table("call", "count", "p50 ms", "p95 ms", "p99 ms", "per second")
    for each in measured:
        times = ("" if value is None else f"{value:.1f}" for value in (each.p50_ms, each.p95_ms, each.p99_ms))
        listing.add_row(each.what, f"{each.count:,}", *times, f"{each.per_second:,.0f}")
    out.print(listing)
