"""Metrics: measured values, read as summaries."""

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemic.errors import InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.tiers import MetricSummary
from tests.two_tenants import CountRows

Call = Callable[[Any], Coroutine[Any, Any, object]]


async def test_a_value_is_stored_unchanged(memory: AsyncMemory) -> None:
    event = await memory.metrics.record("recall", "latency", 12.5, metadata={"cache": "hit"})
    assert (event.kind, event.name, event.value, event.unit) == ("recall", "latency", 12.5, "ms")
    assert (event.metadata, event.owner, event.process) == ({"cache": "hit"}, "alice", "sdk")
    assert (await memory.metrics.record("query", "rows", 3, unit="rows")).value == 3.0


async def test_a_summary_has_count_mean_and_percentiles(memory: AsyncMemory) -> None:
    for value in range(101):
        await memory.metrics.record("recall", "latency", value)
    (summary,) = await memory.metrics.summary()
    assert summary == MetricSummary("recall", "latency", "ms", 101, 50.0, 50.0, 95.0, 99.0)


async def test_percentiles_are_interpolated(memory: AsyncMemory) -> None:
    for value in (0, 10):
        await memory.metrics.record("recall", "latency", value)
    (summary,) = await memory.metrics.summary()
    assert (summary.p50, summary.p95, summary.p99) == pytest.approx((5.0, 9.5, 9.9))


async def test_summaries_are_per_kind_name_and_unit_with_the_most_values_first(memory: AsyncMemory) -> None:
    await memory.metrics.record("recall", "latency", 1, unit="s")
    await memory.metrics.record("retain", "latency", 1)
    await memory.metrics.record("recall", "size", 1)
    for _ in range(2):
        await memory.metrics.record("recall", "latency", 1000)
    found = [(row.kind, row.name, row.unit, row.count) for row in await memory.metrics.summary()]
    assert found == [
        ("recall", "latency", "ms", 2),
        ("recall", "latency", "s", 1),
        ("recall", "size", "ms", 1),
        ("retain", "latency", "ms", 1),
    ]
    assert len(await memory.metrics.summary(kind="recall")) == 3
    assert len(await memory.metrics.summary(kind="recall", name="size")) == 1
    assert [row.count for row in await memory.metrics.summary(limit=1)] == [2]


async def test_a_summary_covers_a_day_by_default(memory: AsyncMemory) -> None:
    now = datetime.now(UTC)
    for hours in (1, 23, 25, 47):
        await memory.metrics.record("recall", "latency", hours, at=now - timedelta(hours=hours))

    async def count(**window: Any) -> int:
        return sum(row.count for row in await memory.metrics.summary(**window))

    assert await count() == 2
    assert await count(until=now - timedelta(hours=24)) == 2
    assert await count(since=now - timedelta(days=7)) == 4
    assert await count(since=now - timedelta(hours=26), until=now - timedelta(hours=2)) == 2


async def test_channels_owners_and_tenants_are_isolated(
    memory: AsyncMemory, foreign_memory: AsyncMemory
) -> None:
    await memory.metrics.record("recall", "latency", 1, channel="project")
    assert await memory.metrics.summary(owner="bob") == []
    assert await foreign_memory.metrics.summary() == []
    assert await memory.metrics.summary(channel="_global") == []
    assert len(await memory.metrics.summary(channel="project")) == 1


BAD_INPUT: list[tuple[Call, str]] = [
    (lambda memory: memory.metrics.record("reading", "n", 1), "kind must be one of recall, retain"),
    (lambda memory: memory.metrics.record(None, "n", 1), "kind must be one of"),
    (lambda memory: memory.metrics.record("recall", "", 1), "name"),
    (lambda memory: memory.metrics.record("recall", "n", float("nan")), "value must be a finite number"),
    (lambda memory: memory.metrics.record("recall", "n", float("-inf")), "value must be a finite number"),
    (lambda memory: memory.metrics.record("recall", "n", 10**400), "value must be a finite number"),
    (lambda memory: memory.metrics.record("recall", "n", "1"), "value must be a number, not str"),
    (lambda memory: memory.metrics.record("recall", "n", True), "value must be a number, not bool"),
    (lambda memory: memory.metrics.record("recall", "n", 1, unit=""), "unit must not be empty"),
    (lambda memory: memory.metrics.record("recall", "n", 1, unit="u" * 33), "unit has 33 characters"),
    (lambda memory: memory.metrics.record("recall", "n", 1, metadata=1), "metadata must be a mapping"),
    (
        lambda memory: memory.metrics.record("recall", "n", 1, at="2026-03-01T10:00"),
        "at has no time zone",
    ),
    (lambda memory: memory.metrics.summary(kind="reading"), "kind must be one of"),
    (lambda memory: memory.metrics.summary(name=""), "name"),
    (lambda memory: memory.metrics.summary(until="2026-03-01T10:00"), "until has no time zone"),
    (lambda memory: memory.metrics.summary(limit=0), "limit"),
]


async def test_bad_input_is_refused_and_nothing_is_written(
    memory: AsyncMemory, count_rows: CountRows, subtests: pytest.Subtests
) -> None:
    for call, said in BAD_INPUT:
        with subtests.test(said):
            with pytest.raises(InvalidInputError, match=said):
                await call(memory)
            assert count_rows() == 0
