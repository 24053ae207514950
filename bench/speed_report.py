"""Targets for the speed of recall, and tables of the results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.report import ReportLine, report_table, table_of
from bench.speed_conversations import TURN_COUNT, ConversationSpeed
from bench.speed_index import Relation
from bench.speed_measure import Latency, Readers
from bench.speed_neighbours import Neighbours
from bench.speed_side_by_side import LIMITS, SearchSpeed
from bench.speed_sizes import SizeResult

P95_TARGETS_MS = {10_000: 25.0, 100_000: 50.0, 1_000_000: 100.0}
GROWTH_TARGET = 4.0
GROWTH_FROM, GROWTH_TO = 10_000, 1_000_000
ANN_RECALL_TARGET = 0.95
NEIGHBOUR_TARGET_RATIO = 1.5
CONVERSATIONS_LIMIT = 10
CONVERSATIONS_P95_TARGET_MS = 25.0
CPU_TARGET_RATIO = 0.5
"""CPU time of a recall over real conversations against that of the code before Fair recall."""


@dataclass(frozen=True)
class Results:
    """All results; parts that were not run are empty."""

    sizes: list[SizeResult]
    relations: list[Relation]
    neighbours: Neighbours | None
    side_by_side: list[SearchSpeed]
    conversations: list[ConversationSpeed]


def report_lines(results: Results) -> list[ReportLine]:
    """Measurements beside their targets."""
    return [
        *(line for size in results.sizes for line in _size_lines(size)),
        *_growth_lines(results.sizes),
        *_neighbours_lines(results.neighbours),
        *_conversations_lines(results.conversations),
        *_side_by_side_lines(results.side_by_side),
    ]


def warm_alone(size: SizeResult) -> Latency:
    """Latency of whole calls, warm, one reader."""
    return next(readers.whole for readers in size.warm if readers.reader_count == 1)


def _size_lines(size: SizeResult) -> Iterator[ReportLine]:
    whole = warm_alone(size)
    target_ms = P95_TARGETS_MS.get(size.memory_count)
    yield ReportLine(
        f"recall, {size.memory_count:,} memories, one reader",
        f"p50 {whole.p50_ms:.1f}, p95 {whole.p95_ms:.1f}, p99 {whole.p99_ms:.1f} ms",
        f"p95 ≤ {target_ms:.0f} ms" if target_ms is not None else "",
        whole.p95_ms <= target_ms if target_ms is not None else None,
    )
    if size.ann_recall is not None:
        yield ReportLine(
            f"recall@10 of the vector index against an exact scan, {size.memory_count:,} memories",
            f"{size.ann_recall:.3f}",
            f"≥ {ANN_RECALL_TARGET}",
            size.ann_recall >= ANN_RECALL_TARGET,
        )


def _growth_lines(sizes: Sequence[SizeResult]) -> Iterator[ReportLine]:
    by_count = {size.memory_count: warm_alone(size).p95_ms for size in sizes}
    if GROWTH_FROM in by_count and GROWTH_TO in by_count:
        ratio = by_count[GROWTH_TO] / by_count[GROWTH_FROM]
        what = f"growth of the p95 from {GROWTH_FROM:,} to {GROWTH_TO:,} memories"
        yield ReportLine(what, f"{ratio:.2f} times", f"< {GROWTH_TARGET:.0f} times", ratio < GROWTH_TARGET)


def _neighbours_lines(found: Neighbours | None) -> Iterator[ReportLine]:
    if found is not None:
        yield ReportLine(
            f"a tenant of {found.memories_per_tenant:,} beside the large ones, p95 against without them",
            f"{found.beside.p95_ms:.1f} / {found.alone.p95_ms:.1f} ms = {found.p95_ratio:.2f}",
            f"≤ {NEIGHBOUR_TARGET_RATIO}",
            found.p95_ratio <= NEIGHBOUR_TARGET_RATIO,
        )


def _conversations_lines(speeds: Sequence[ConversationSpeed]) -> Iterator[ReportLine]:
    """Latency and CPU time of this code, and its CPU time beside the other."""
    if not speeds:
        return
    ours, *others = speeds
    for limit, cost in ours.by_limit.items():
        what = f"recall, {ours.turn_count:,} turns of real conversations, {limit} hits"
        times = cost.latency
        is_target = limit == CONVERSATIONS_LIMIT and ours.turn_count == TURN_COUNT
        yield ReportLine(
            what,
            f"p50 {times.p50_ms:.1f}, p95 {times.p95_ms:.1f}, p99 {times.p99_ms:.1f} ms",
            f"p95 ≤ {CONVERSATIONS_P95_TARGET_MS:.0f} ms" if is_target else "",
            times.p95_ms <= CONVERSATIONS_P95_TARGET_MS if is_target else None,
        )
        measured = f"{cost.python_cpu_ms:.1f} in Python, {cost.postgres_cpu_ms:.1f} in PostgreSQL"
        yield ReportLine(f"{what}, ms of CPU per call", measured)
        for other in others:
            ratio = cost.cpu_ms / other.by_limit[limit].cpu_ms
            yield ReportLine(
                f"{what}, CPU against the {other.code}",
                f"{cost.cpu_ms:.1f} / {other.by_limit[limit].cpu_ms:.1f} ms = {ratio:.2f}",
                f"≤ {CPU_TARGET_RATIO}" if is_target else "",
                ratio <= CPU_TARGET_RATIO if is_target else None,
            )


def _side_by_side_lines(speeds: Sequence[SearchSpeed]) -> Iterator[ReportLine]:
    """Mnemic against each store that could be measured, for each limit."""
    if not speeds:
        return
    ours, *others = speeds
    for other in others:
        for limit in LIMITS:
            what = f"{ours.name} against {other.name}, p95 of a search for {limit}"
            if ours.problem or other.problem:
                yield ReportLine(what, ours.problem or other.problem, met=False if ours.problem else None)
            else:
                ratio = other.by_limit[limit].p95_ms / ours.by_limit[limit].p95_ms
                measured = f"{ratio:.2f} times as fast{other.shortfall(limit)}"
                yield ReportLine(what, measured, "ahead", ratio > 1)


def show(console: Console, results: Results, lines: Sequence[ReportLine]) -> None:
    """Print the tables."""
    for size in results.sizes:
        console.print(_size_table(size))
    if results.relations:
        console.print(_relations_table(results.relations))
    if results.conversations:
        console.print(_conversations_table(results.conversations))
    if results.side_by_side:
        console.print(_side_by_side_table(results.side_by_side))
    console.print(report_table("Recall", lines))


def _size_table(size: SizeResult) -> Table:
    """All stages for all numbers of readers; milliseconds are p50 / p95 / p99."""
    columns = [
        ("cold", size.cold),
        ("warming up", size.warming),
        *((_readers(each), each) for each in size.warm),
    ]
    filled = f"filled at {size.fill_per_s:,.0f}/s, settled in {size.settle_s:.0f} s"
    table = table_of(
        f"{size.memory_count:,} memories, {filled}", "p50 / p95 / p99 ms", *(name for name, _ in columns)
    )
    table.add_row("whole call", *(_times(readers.whole) for _, readers in columns))
    for stage in size.warm[0].stages:
        times = (readers.stages.get(stage) for _, readers in columns)
        table.add_row(stage, *(_times(each) if each is not None else "–" for each in times))
    table.add_row("calls per second", *(f"{readers.calls_per_s:.1f}" for _, readers in columns))
    return table


def _readers(readers: Readers) -> str:
    return "warm, 1 reader" if readers.reader_count == 1 else f"warm, {readers.reader_count} readers"


def _relations_table(relations: Sequence[Relation]) -> Table:
    table = table_of("On disk, all sizes together", "table or index", "table MB", "indexes MB")
    for each in relations:
        table.add_row(each.name, f"{each.table_mb:,.1f}", f"{each.index_mb:,.1f}")
    return table


def _conversations_table(speeds: Sequence[ConversationSpeed]) -> Table:
    table = table_of(
        f"{speeds[0].turn_count:,} turns of real conversations",
        *("code", "hits", "p50 / p95 / p99 ms", "CPU ms, Python", "CPU ms, PostgreSQL"),
    )
    for speed in speeds:
        for limit, cost in speed.by_limit.items():
            cpu_ms = (f"{cost.python_cpu_ms:.1f}", f"{cost.postgres_cpu_ms:.1f}")
            table.add_row(speed.code, str(limit), _times(cost.latency), *cpu_ms)
    return table


def _side_by_side_table(speeds: Sequence[SearchSpeed]) -> Table:
    table = table_of(
        "Search side by side, the same embedder",
        "store",
        *(f"k={limit} ms" for limit in LIMITS),
        "to be fair",
    )
    for speed in speeds:
        times = (
            _times(speed.by_limit[limit]) + speed.shortfall(limit) if limit in speed.by_limit else "–"
            for limit in LIMITS
        )
        table.add_row(speed.name, *times, escape(speed.problem or speed.fairness))
    return table


def _times(latency: Latency) -> str:
    return f"{latency.p50_ms:.1f} / {latency.p95_ms:.1f} / {latency.p99_ms:.1f}"
