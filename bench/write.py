"""Speed of writing memories, beside other stores on the same machine in the same run.

    python -m bench.write [--quick] [--json bench/results/write.json] [--timeout 3600]

1. `retain_many` with precomputed vectors, 10,000 memories a call, one owner whose memories accumulate.
2. Single `retain` with the test model, synchronous and asynchronous.
3. `retain_many` with the local model, relative to the model alone over the same texts.
4. The memory of a process during one `retain_many` of 10,000 and one of 200,000 memories.
5. mem0, Chroma and LangGraph's PostgresStore with the same texts and vectors: first in bulk, by the
   fastest call of each, then one by one.

Everything runs on embedded servers in a temporary folder, with fsync on; nothing leaves the machine, except
that the competitors are installed from the package registry on the first run. Prints a table with
the targets; the exit code is 1 when one is missed.

About fairness. All get the same texts and precomputed vectors. Mnemic does more per memory than the others: a
lexical index, detection of duplicates, an event, a log row, a tenant's policy checked by the database, all of
it durable and, whatever the size of the call, all or nothing. mem0 and Chroma write to SQLite and to
their own files; whether these wait for the disk is left at their defaults. LangGraph is measured with its
default, an HNSW index, and without an index, like Mnemic for a small owner. The machine may be shared:
compared stores alternate, medians count, and ratios say more than rates.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.markup import escape

from bench.memory_use import MemoryUse, measure_memory_use
from bench.report import ReportLine, as_json, report_table, table_of
from bench.retain_speed import (
    BesideEmbedder,
    Bulk,
    Single,
    measure_beside_embedder,
    measure_bulk,
    measure_single,
)
from bench.side_by_side import Speed, measure_side_by_side, median_ratio
from mnemic import AsyncMemory
from mnemic.db.embedded import stop

DEFAULT_TIMEOUT_S = 3_600.0

BULK_TARGET_PER_S = 5_000.0
SINGLE_TARGET_MS = 10.0
LOCAL_TARGET_SHARE = 0.90
MEMORY_TARGET_RATIO = 1.2

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Sizes:
    """Numbers of memories and rounds."""

    bulk_count: int = 10_000
    bulk_rounds: int = 5
    single_count: int = 300
    single_filled_count: int = 10_000
    local_count: int = 1_000
    local_rounds: int = 4
    memory_counts: tuple[int, int] = (10_000, 200_000)
    side_bulk_count: int = 10_000
    side_single_count: int = 300
    side_rounds: int = 3


QUICK = Sizes(
    bulk_count=5_000,
    bulk_rounds=2,
    single_filled_count=2_000,
    local_count=300,
    local_rounds=2,
    memory_counts=(10_000, 40_000),
    side_bulk_count=1_000,
    side_single_count=100,
    side_rounds=1,
)


@dataclass(frozen=True)
class Results:
    """All results."""

    bulk: Bulk
    single: Single
    local: BesideEmbedder
    memory_use: list[MemoryUse]
    side_by_side: list[Speed]


class Clock:
    """The time limit of the whole benchmark."""

    def __init__(self, timeout_s: float) -> None:
        self._end_s = time.monotonic() + timeout_s

    def left_s(self) -> float:
        """Seconds until the limit."""
        return self._end_s - time.monotonic()

    async def within(self, work: Awaitable[Answer]) -> Answer:
        """Await `work`, at most until the limit."""
        async with asyncio.timeout(self.left_s()):
            return await work


def main() -> int:
    """Measure, print and write the results."""
    parser = argparse.ArgumentParser(description="Measure the speed of writing.")
    parser.add_argument("--quick", action="store_true", help="fewer memories, about three minutes")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the results to this file")
    parser.add_argument("--timeout", type=float, default=DEFAULT_TIMEOUT_S, metavar="SECONDS")
    options = parser.parse_args()
    sizes = QUICK if options.quick else Sizes()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        results = measure(Path(folder), sizes, Clock(options.timeout), Console(stderr=True))
    lines = report_lines(results)
    show(console, results, lines)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(as_json({"sizes": asdict(sizes), "results": asdict(results)}, lines))
    return int(any(line.met is False for line in lines))


def measure(folder: Path, sizes: Sizes, clock: Clock, progress: Console) -> Results:
    """Run all parts, one after the other."""
    data_dir = folder / "data"
    try:
        bulk, single, local, memory_use = asyncio.run(_measure_mnemic(data_dir, sizes, clock, progress))
    finally:
        stop(data_dir)
    progress.print("5/5 side by side …")
    side_by_side = measure_side_by_side(
        folder,
        bulk_count=sizes.side_bulk_count,
        single_count=sizes.side_single_count,
        rounds=sizes.side_rounds,
        time_left_s=clock.left_s,
    )
    return Results(bulk, single, local, memory_use, side_by_side)


async def _measure_mnemic(
    data_dir: Path, sizes: Sizes, clock: Clock, progress: Console
) -> tuple[Bulk, Single, BesideEmbedder, list[MemoryUse]]:
    async with AsyncMemory(data_dir=data_dir, embedder="test"):  # Keeps the server running in between.
        progress.print("1/5 retain_many with precomputed vectors …")
        bulk = await clock.within(measure_bulk(data_dir, count=sizes.bulk_count, rounds=sizes.bulk_rounds))
        progress.print("2/5 single retain …")
        single = await clock.within(
            measure_single(data_dir, count=sizes.single_count, filled_count=sizes.single_filled_count)
        )
        progress.print("3/5 retain_many beside the local model …")
        local = await clock.within(
            measure_beside_embedder(data_dir, count=sizes.local_count, rounds=sizes.local_rounds)
        )
        progress.print("4/5 memory use …")
        memory_use = [
            measure_memory_use(data_dir, count=count, timeout_s=clock.left_s())
            for count in sizes.memory_counts
        ]
    return bulk, single, local, memory_use


def report_lines(results: Results) -> list[ReportLine]:
    """Measurements beside their targets."""
    return [
        ReportLine(
            f"retain_many, precomputed vectors, {results.bulk.count:,} a call",
            f"{results.bulk.rate_per_s:,.0f} memories/s"
            f" (rounds: {', '.join(f'{rate:,.0f}' for rate in results.bulk.rates_per_s)})",
            f"≥ {BULK_TARGET_PER_S:,.0f}/s",
            results.bulk.rate_per_s >= BULK_TARGET_PER_S,
        ),
        *_single_lines(results.single),
        ReportLine(
            "retain_many, local model, relative to the model alone",
            f"{results.local.share:.1%} (rounds: "
            + ", ".join(
                f"{retain:.0f} of {alone:.0f}/s"
                for retain, alone in zip(
                    results.local.retain_rates_per_s, results.local.embedder_rates_per_s, strict=True
                )
            )
            + ")",
            f"≥ {LOCAL_TARGET_SHARE:.0%}",
            results.local.share >= LOCAL_TARGET_SHARE,
        ),
        _memory_use_lines(results.memory_use),
        *_side_by_side_lines(results.side_by_side),
    ]


def _single_lines(single: Single) -> list[ReportLine]:
    cases = (
        ("Memory, new owner", single.new_sync),
        ("AsyncMemory, new owner", single.new_async),
        (f"Memory, owner of {single.filled_count:,}", single.filled_sync),
        (f"AsyncMemory, owner of {single.filled_count:,}", single.filled_async),
    )
    return [
        ReportLine(
            "for comparison: writing 8 kB and waiting for the disk", f"p50 {single.disk_sync_p50_ms:.2f} ms"
        ),
        *(
            ReportLine(
                f"retain, test model, {case}",
                f"p50 {latency.p50_ms:.2f} ms, p95 {latency.p95_ms:.2f} ms",
                f"p50 ≤ {SINGLE_TARGET_MS:.0f} ms",
                latency.p50_ms <= SINGLE_TARGET_MS,
            )
            for case, latency in cases
        ),
    ]


def _memory_use_lines(memory_use: list[MemoryUse]) -> ReportLine:
    small, large = memory_use
    ratio = large.peak_mb / small.peak_mb
    return ReportLine(
        f"peak memory of the process, {large.count:,} against {small.count:,} in one call",
        f"{large.peak_mb:.0f} MB / {small.peak_mb:.0f} MB = {ratio:.2f}"
        f" (at {large.rate_per_s:,.0f} and {small.rate_per_s:,.0f}/s)",
        f"≤ {MEMORY_TARGET_RATIO}",
        ratio <= MEMORY_TARGET_RATIO,
    )


def _side_by_side_lines(speeds: list[Speed]) -> list[ReportLine]:
    """Mnemic against each store that could be measured, in bulk and one by one."""
    ours, *others = speeds
    lines = []
    for other in others:
        for way, ratio in (
            ("in bulk", median_ratio(ours.bulk_per_s, other.bulk_per_s)),
            ("one by one", median_ratio(ours.single_per_s, other.single_per_s)),
        ):
            what = f"{ours.name} against {other.name}, {way}"
            if ratio is None:
                lines.append(ReportLine(what, ours.problem or other.problem))
            else:
                lines.append(ReportLine(what, f"{ratio:.1f} times as fast", "ahead", ratio > 1))
    return lines


def show(console: Console, results: Results, lines: list[ReportLine]) -> None:
    """Print the tables."""
    console.print(report_table("Writing", lines))
    beside = table_of(
        "Side by side, the same texts and vectors",
        *("store", "in bulk/s", "one by one/s", "versions", "to be fair"),
    )
    for speed in results.side_by_side:
        beside.add_row(
            speed.name,
            _median(speed.bulk_per_s),
            _median(speed.single_per_s),
            escape(", ".join(speed.versions)),
            escape(speed.problem or speed.fairness),
        )
    console.print(beside)


def _median(rates_per_s: list[float]) -> str:
    return f"{statistics.median(rates_per_s):,.0f}" if rates_per_s else "–"


if __name__ == "__main__":
    sys.exit(main())
