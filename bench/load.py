"""How a server holds up: many connections that recall and retain at once, beside the same calls in-process.

    python -m bench.load [--memories 100000] [--connections 64] [--seconds 60]
                         [--json bench/results/load.json]

1. One owner is filled with made-up turns (`bench/speed_texts.py`), its index and statistics are made.
2. The same mixed calls, nine recalls for one retain, are made in this process, and over HTTP on loopback to
   `mnemic serve` in a process of its own, first by one caller after the other (what HTTP adds to a call),
   then by all connections at once for some seconds (throughput and p95).

The client is Python, too, and shares the machine's cores with the server: what many connections reach over
HTTP is a lower bound. Both use the local model for the queries. Prints a table beside the targets and ends
with 1 when one is missed.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

import httpx
from rich.console import Console

from bench.report import Line, as_json, report_table, table_of
from bench.speed_index import settle
from bench.speed_measure import Latency
from bench.speed_sizes import OWNER, SEED, fill
from bench.speed_texts import questions
from bench.speed_vectors import ClusteredVectors
from mnemic import AsyncMemory
from mnemic.db.embedded import stop
from mnemic.errors import MnemicError

DEFAULT_MEMORIES = 100_000
DEFAULT_CONNECTIONS = 64
DEFAULT_SECONDS = 60.0
ALONE_CALLS = 200
WARM_UP_CALLS = 30
RETAIN_EVERY = 10
"""One of so many calls writes."""
START_TIMEOUT_S = 60.0
CALL_TIMEOUT_S = 60.0
OVERHEAD_MAX_MS = 5.0

MNEMIC = str(Path(sys.executable).with_name("mnemic"))

Recall = Callable[[str], Awaitable[None]]
Retain = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class Calls:
    """The two calls, by one way."""

    recall: Recall
    retain: Retain


@dataclass(frozen=True)
class Way:
    """What was measured by one way: callers one after the other, then all at once."""

    name: str
    recall_alone: Latency
    retain_alone: Latency
    recall: Latency
    retain: Latency
    calls_per_s: float
    error_count: int


def main() -> int:
    """Measure, show, keep."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        ways = asyncio.run(_measure(Path(folder) / "data", options, Console(stderr=True)))
    lines = judged(*ways)
    _show(Console(), ways, lines)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        plan = {name: getattr(options, name) for name in ("memories", "connections", "seconds")}
        options.json.write_text(as_json({"plan": plan, "ways": [asdict(way) for way in ways]}, lines))
    return int(any(line.met is False for line in lines))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure a server under load.")
    parser.add_argument("--memories", type=int, default=DEFAULT_MEMORIES, help="memories of the owner")
    parser.add_argument("--connections", type=int, default=DEFAULT_CONNECTIONS, help="callers at once")
    parser.add_argument("--seconds", type=float, default=DEFAULT_SECONDS, help="how long they call")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the results there as well")
    return parser.parse_args()


async def _measure(data_dir: Path, options: argparse.Namespace, progress: Console) -> tuple[Way, Way]:
    progress.print(f"filling {options.memories:,} memories …")
    async with AsyncMemory(data_dir=data_dir, embedder=ClusteredVectors()) as memory:
        await fill(memory, OWNER, options.memories, seed=SEED)
        await settle(memory, data_dir, OWNER, options.memories)
    try:
        progress.print("in-process …")
        async with _in_process(data_dir) as calls:
            direct = await _measure_way("in-process", calls, options)
        progress.print("over HTTP …")
        async with _over_http(data_dir, options.connections) as calls:
            served = await _measure_way("over HTTP", calls, options)
        return direct, served
    finally:
        await asyncio.to_thread(stop, data_dir)


async def _measure_way(name: str, calls: Calls, options: argparse.Namespace) -> Way:
    asked = [
        each.question for each in questions(ALONE_CALLS + WARM_UP_CALLS, of_count=options.memories, seed=SEED)
    ]
    for question in asked[:WARM_UP_CALLS]:
        await calls.recall(question)
    recall_alone = [await _timed(calls.recall(question)) for question in asked[WARM_UP_CALLS:]]
    retain_alone = [
        await _timed(calls.retain(f"{name}, one by one, note {number} of {time.time_ns()}."))
        for number in range(ALONE_CALLS)
    ]
    crowd = _Crowd(calls, name, asked)
    began_s = time.perf_counter()
    async with asyncio.TaskGroup() as callers:
        for _ in range(options.connections):
            callers.create_task(crowd.call_until(began_s + options.seconds))
    took_s = time.perf_counter() - began_s
    return Way(
        name,
        Latency.of(recall_alone),
        Latency.of(retain_alone),
        Latency.of(crowd.recall_ms),
        Latency.of(crowd.retain_ms),
        (len(crowd.recall_ms) + len(crowd.retain_ms)) / took_s,
        crowd.error_count,
    )


class _Crowd:
    """Callers that share a counter, so that one call of `RETAIN_EVERY` writes, whoever makes it."""

    def __init__(self, calls: Calls, name: str, asked: Sequence[str]) -> None:
        self._calls = calls
        self._name = name
        self._asked = asked
        self._numbers = count()
        self.recall_ms: list[float] = []
        self.retain_ms: list[float] = []
        self.error_count = 0

    async def call_until(self, deadline_s: float) -> None:
        while time.perf_counter() < deadline_s:
            number = next(self._numbers)
            try:
                if number % RETAIN_EVERY == 0:
                    text = f"{self._name}, many at once, note {number} of {time.time_ns()}."
                    self.retain_ms.append(await _timed(self._calls.retain(text)))
                else:
                    question = self._asked[number % len(self._asked)]
                    self.recall_ms.append(await _timed(self._calls.recall(question)))
            except (MnemicError, httpx.HTTPError) as error:
                self.error_count += 1
                print(f"{type(error).__name__}: {error}", file=sys.stderr)


async def _timed(call: Awaitable[None]) -> float:
    began_s = time.perf_counter()
    await call
    return (time.perf_counter() - began_s) * 1000


@asynccontextmanager
async def _in_process(data_dir: Path) -> AsyncIterator[Calls]:
    async with AsyncMemory(data_dir=data_dir, owner=OWNER) as memory:

        async def recall(question: str) -> None:
            await memory.recall(question)

        async def retain(text: str) -> None:
            await memory.retain(text)

        yield Calls(recall, retain)


@asynccontextmanager
async def _over_http(data_dir: Path, connections: int) -> AsyncIterator[Calls]:
    with _server(data_dir) as url:
        key = _key(data_dir)
        async with httpx.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=CALL_TIMEOUT_S,
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        ) as client:

            async def recall(question: str) -> None:
                body = {"query": question, "owner": OWNER}
                (await client.post("/v1/recall", json=body)).raise_for_status()

            async def retain(text: str) -> None:
                body = {"content": text, "owner": OWNER}
                (await client.post("/v1/memories", json=body)).raise_for_status()

            yield Calls(recall, retain)


class _server:
    """`mnemic serve` in a process of its own; entering gives its URL."""

    def __init__(self, data_dir: Path) -> None:
        command = [
            MNEMIC,
            "serve",
            "--port",
            "0",
            "--json",
            "--data-dir",
            str(data_dir),
        ]
        environment = {**os.environ, "MNEMIC_RECALL_RATE_PER_MINUTE": "1000000"}
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )

    def __enter__(self) -> str:
        assert self._process.stdout is not None
        told = ""
        while not told.endswith("}\n"):
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError("the server did not begin")
            told += line
        return str(json.loads(told)["url"])

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        assert self._process.wait(START_TIMEOUT_S) == 0, "the server ends well when it is told to"


def _key(data_dir: Path) -> str:
    command = [
        MNEMIC,
        "keys",
        "create",
        "--role",
        "write",
        "--data-dir",
        str(data_dir),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def judged(direct: Way, served: Way) -> list[Line]:
    """What was measured beside what it should be."""
    overhead_ms = served.recall_alone.p50_ms - direct.recall_alone.p50_ms
    return [
        Line("errors under load", str(served.error_count), "0", served.error_count == 0),
        Line(
            "what HTTP adds to a recall, p50",
            f"{overhead_ms:.1f} ms",
            f"≤ {OVERHEAD_MAX_MS:.0f} ms",
            overhead_ms <= OVERHEAD_MAX_MS,
        ),
        Line("calls/s over HTTP, of those in-process", f"{served.calls_per_s / direct.calls_per_s:.2f}"),
    ]


def _show(console: Console, ways: Sequence[Way], lines: Sequence[Line]) -> None:
    table = table_of(
        "Under load, milliseconds",
        "",
        "recall alone p50 / p95",
        "retain alone p50 / p95",
        "recall among many p50 / p95",
        "retain among many p50 / p95",
        "calls/s",
        "errors",
    )
    for way in ways:
        latencies = (way.recall_alone, way.retain_alone, way.recall, way.retain)
        cells = [f"{latency.p50_ms:.1f} / {latency.p95_ms:.1f}" for latency in latencies]
        table.add_row(way.name, *cells, f"{way.calls_per_s:.0f}", str(way.error_count))
    console.print(table, report_table("Targets", lines))


if __name__ == "__main__":
    sys.exit(main())
