"""A server under load: many connections that recall and retain at once, beside the same calls in-process.

    python -m bench.load [--memories 100000] [--connections 64] [--seconds 60]
                         [--json bench/results/load.json]

1. Fill one owner with generated turns (`bench/speed_texts.py`) and build its index and statistics.
2. Make the same calls in this process, and over HTTP on loopback to `mnemic serve` in another process. First
   single calls, alternating between both transports (the overhead of HTTP per call); then all connections at
   once for `--seconds`, nine recalls for one retain, first one transport, then the other (throughput, p95).

The client is also Python and shares the cores with the server, so the throughput over HTTP is a lower bound.
Both use the local model for queries; the vectors of the memories are generated, so refusal is switched off.
Prints a table with the targets; the exit code is 1 when one is missed.
"""

import argparse
import asyncio
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

from bench.report import ReportLine, as_json, report_table, table_of
from bench.serving import ServerProcess, create_key
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
"""One of this many calls is a retain."""
CALL_TIMEOUT_S = 60.0
OVERHEAD_MAX_MS = 5.0
UNLIMITED_RATE = "1000000"

Call = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class Calls:
    """Recall and retain over one transport."""

    recall: Call
    retain: Call


@dataclass(frozen=True)
class TransportResult:
    """Measurements over one transport: single calls, then concurrent ones."""

    name: str
    recall_alone: Latency
    retain_alone: Latency
    recall: Latency
    retain: Latency
    calls_per_s: float
    error_count: int


def main() -> int:
    """Measure, print and write the results."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        transports = asyncio.run(_measure(Path(folder) / "data", options, Console(stderr=True)))
    lines = report_lines(*transports)
    _show(Console(), transports, lines)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        plan = {name: getattr(options, name) for name in ("memories", "connections", "seconds")}
        options.json.write_text(
            as_json({"plan": plan, "ways": [asdict(transport) for transport in transports]}, lines)
        )
    return int(any(line.met is False for line in lines))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure a server under load.")
    parser.add_argument("--memories", type=int, default=DEFAULT_MEMORIES, help="memories of the owner")
    parser.add_argument("--connections", type=int, default=DEFAULT_CONNECTIONS, help="concurrent callers")
    parser.add_argument(
        "--seconds", type=float, default=DEFAULT_SECONDS, help="duration of the concurrent part"
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the results to this file")
    return parser.parse_args()


async def _measure(
    data_dir: Path, options: argparse.Namespace, progress: Console
) -> tuple[TransportResult, TransportResult]:
    progress.print(f"filling {options.memories:,} memories …")
    async with AsyncMemory(data_dir=data_dir, embedder=ClusteredVectors()) as memory:
        await fill(memory, OWNER, options.memories, seed=SEED)
        await settle(memory, data_dir, OWNER, options.memories)
    asked = [
        each.question for each in questions(ALONE_CALLS + WARM_UP_CALLS, of_count=options.memories, seed=SEED)
    ]
    try:
        async with _in_process(data_dir) as direct, _over_http(data_dir, options.connections) as served:
            progress.print("single calls …")
            recalls_alone = await _in_turns(direct.recall, served.recall, asked)
            retains_alone = await _in_turns(
                direct.retain, served.retain, [f"One by one, note {number}." for number in range(len(asked))]
            )
            transports = list[TransportResult]()
            for number, (name, calls) in enumerate((("in-process", direct), ("over HTTP", served))):
                progress.print(f"concurrent calls, {name} …")
                crowd = _ConcurrentCallers(calls, asked)
                calls_per_s = await crowd.call(options.connections, options.seconds)
                transports.append(
                    TransportResult(
                        name,
                        Latency.of(recalls_alone[number]),
                        Latency.of(retains_alone[number]),
                        Latency.of(crowd.recall_ms),
                        Latency.of(crowd.retain_ms),
                        calls_per_s,
                        crowd.error_count,
                    )
                )
        return transports[0], transports[1]
    finally:
        await asyncio.to_thread(stop, data_dir)


async def _in_turns(direct: Call, served: Call, texts: Sequence[str]) -> tuple[list[float], list[float]]:
    """Make a call with each text over both transports, alternating which is first; returns times in ms."""
    took_ms: tuple[list[float], list[float]] = ([], [])
    for number, text in enumerate(texts):
        transports = [(0, direct), (1, served)]
        for transport, call in transports if number % 2 else reversed(transports):
            took_ms[transport].append(await _timed(call(text)))
    return took_ms[0][WARM_UP_CALLS:], took_ms[1][WARM_UP_CALLS:]


class _ConcurrentCallers:
    """Concurrent callers with a shared counter: one of `RETAIN_EVERY` calls is a retain."""

    def __init__(self, calls: Calls, asked: Sequence[str]) -> None:
        self._calls = calls
        self._asked = asked
        self._numbers = count()
        self.recall_ms: list[float] = []
        self.retain_ms: list[float] = []
        self.error_count = 0

    async def call(self, connections: int, seconds: float) -> float:
        """Run this many callers for this long; returns their calls per second in total."""
        began_s = time.perf_counter()
        async with asyncio.TaskGroup() as callers:
            for _ in range(connections):
                callers.create_task(self._call_until(began_s + seconds))
        return (len(self.recall_ms) + len(self.retain_ms)) / (time.perf_counter() - began_s)

    async def _call_until(self, deadline_s: float) -> None:
        while time.perf_counter() < deadline_s:
            number = next(self._numbers)
            try:
                if number % RETAIN_EVERY == 0:
                    text = f"Concurrent, note {number}."
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
            assert await memory.recall(question, refuse_below=0), "there are hits"

        async def retain(text: str) -> None:
            await memory.retain(f"In-process: {text} {time.time_ns()}")

        yield Calls(recall, retain)


@asynccontextmanager
async def _over_http(data_dir: Path, connections: int) -> AsyncIterator[Calls]:
    with ServerProcess(data_dir, MNEMIC_RECALL_RATE_PER_MINUTE=UNLIMITED_RATE) as url:
        key = create_key(data_dir)
        async with httpx.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=CALL_TIMEOUT_S,
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        ) as client:

            async def recall(question: str) -> None:
                body = {"query": question, "owner": OWNER, "refuse_below": 0}
                answer = (await client.post("/v1/recall", json=body)).raise_for_status()
                assert answer.json()["hits"], "there are hits"

            async def retain(text: str) -> None:
                body = {"content": f"Over HTTP: {text} {time.time_ns()}", "owner": OWNER}
                (await client.post("/v1/memories", json=body)).raise_for_status()

            yield Calls(recall, retain)


def report_lines(direct: TransportResult, served: TransportResult) -> list[ReportLine]:
    """Measurements beside their targets."""
    overhead_ms = served.recall_alone.p50_ms - direct.recall_alone.p50_ms
    return [
        ReportLine("errors under load", str(served.error_count), "0", served.error_count == 0),
        ReportLine(
            "overhead of HTTP per recall, p50",
            f"{overhead_ms:.1f} ms",
            f"≤ {OVERHEAD_MAX_MS:.0f} ms",
            overhead_ms <= OVERHEAD_MAX_MS,
        ),
        ReportLine(
            "calls/s over HTTP relative to in-process", f"{served.calls_per_s / direct.calls_per_s:.2f}"
        ),
    ]


def _show(console: Console, transports: Sequence[TransportResult], lines: Sequence[ReportLine]) -> None:
    table = table_of(
        "Under load, milliseconds",
        "",
        "recall, one caller p50 / p95",
        "retain, one caller p50 / p95",
        "recall, concurrent p50 / p95",
        "retain, concurrent p50 / p95",
        "calls/s",
        "errors",
    )
    for transport in transports:
        latencies = (transport.recall_alone, transport.retain_alone, transport.recall, transport.retain)
        cells = [f"{latency.p50_ms:.1f} / {latency.p95_ms:.1f}" for latency in latencies]
        table.add_row(transport.name, *cells, f"{transport.calls_per_s:.0f}", str(transport.error_count))
    console.print(table, report_table("Targets", lines))


if __name__ == "__main__":
    sys.exit(main())
