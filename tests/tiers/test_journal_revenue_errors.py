"""Specific behaviour of journal, revenue and error events."""

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from mnemic.errors import InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.tiers import RevenueTotal
from tests.two_tenants import CountRows

Call = Callable[[Any], Coroutine[Any, Any, object]]


async def test_a_journal_entry_is_text_or_any_json(memory: AsyncMemory) -> None:
    entry = await memory.journal.append(
        evaluated="three offers",
        acted=["took the second", {"price": 12}],
        forward={"next": "deliver"},
        extra={"mood": None},
    )
    assert (entry.evaluated, entry.acted) == ("three offers", ["took the second", {"price": 12}])
    assert (entry.forward, entry.extra) == ({"next": "deliver"}, {"mood": None})


async def test_a_journal_entry_may_leave_parts_out(memory: AsyncMemory) -> None:
    entry = await memory.journal.append(forward="rest")
    assert (entry.evaluated, entry.acted, entry.forward, entry.extra) == (None, None, "rest", {})
    assert (await memory.journal.append(acted=False)).acted is False


@pytest.mark.parametrize(
    ("amount", "stored"),
    [
        (12, "12"),
        ("12.50", "12.50"),
        ("-0.000000000000000001", "-0.000000000000000001"),
        (Decimal("0.1"), "0.1"),
        (Decimal("1E+3"), "1000"),
        (-7, "-7"),
        (0, "0"),
        ("+3.14", "3.14"),
        ("99999999999999999999.999999999999999999", "99999999999999999999.999999999999999999"),
    ],
)
async def test_amounts_are_exact(memory: AsyncMemory, amount: int | str | Decimal, stored: str) -> None:
    await memory.revenue.append(amount, "EUR", source="tests")
    (event,) = await memory.revenue.list()
    assert f"{event.amount:f}" == stored


async def test_revenue_has_source_and_description(memory: AsyncMemory) -> None:
    event = await memory.revenue.append(
        "12.50", "eur", source="advisory_fee", description="for March", metadata={"invoice": 7}
    )
    assert (event.currency, event.source, event.description) == ("EUR", "advisory_fee", "for March")
    assert event.metadata == {"invoice": 7}


async def test_totals_are_exact_and_by_currency(memory: AsyncMemory, foreign_memory: AsyncMemory) -> None:
    for amount in ("0.1", "0.2", "-0.05"):
        await memory.revenue.append(amount, "EUR", source="tests")
    old = datetime(2020, 1, 1, tzinfo=UTC)
    await memory.revenue.append(5, "USD", source="tests", at=old, channel="project")
    await memory.revenue.append(1000, "EUR", source="tests", owner="bob")
    await foreign_memory.revenue.append(1000, "EUR", source="tests")
    eur, usd = RevenueTotal("EUR", Decimal("0.25"), 3), RevenueTotal("USD", Decimal(5), 1)
    assert await memory.revenue.totals() == [eur, usd]
    assert await memory.revenue.totals(since="2021-01-01T00:00:00Z") == [eur]
    assert await memory.revenue.totals(until="2021-01-01T00:00:00Z") == [usd]
    assert await memory.revenue.totals(channel="project") == [usd]
    assert [event.amount for event in await memory.revenue.list(currency="usd")] == [Decimal(5)]


async def test_errors_are_found_by_kind_and_severity(memory: AsyncMemory) -> None:
    await memory.errors.record("Timeout", "late", severity="low")
    worst = await memory.errors.record("Timeout", "never came", severity="critical", detail={"waited_s": 30})
    await memory.errors.record("Refusal", "no", severity="critical")
    assert (worst.kind, worst.message, worst.detail) == ("Timeout", "never came", {"waited_s": 30})
    assert await memory.errors.list(kind="Timeout", severity="critical") == [worst]
    assert len(await memory.errors.list(severity="critical")) == 2
    assert (await memory.errors.record("Timeout", "late")).severity == "medium"


BAD_INPUT: list[tuple[Call, str]] = [
    (lambda memory: memory.journal.append(), "at least one of evaluated, acted and forward"),
    (lambda memory: memory.journal.append(extra={"x": 1}), "at least one of"),
    (lambda memory: memory.journal.append(evaluated=""), "evaluated must not be empty"),
    (lambda memory: memory.journal.append(acted="a\0b"), "acted must not contain NUL"),
    (lambda memory: memory.journal.append(acted=["a\0b"]), "acted must not contain NUL"),
    (lambda memory: memory.journal.append(forward="\ud800"), "lone surrogate"),
    (lambda memory: memory.journal.append(forward=["\ud800"]), "forward must be JSON"),
    (lambda memory: memory.journal.append(acted=object()), "acted must be JSON"),
    (lambda memory: memory.journal.append(acted=float("inf")), "acted must be JSON"),
    (lambda memory: memory.journal.append(acted=["x" * 2_000_000]), "the limit is"),
    (lambda memory: memory.journal.append(acted="x", extra=[1]), "extra must be a mapping"),
    (lambda memory: memory.journal.append(acted="x", extra={1: 2}), "extra must have text as keys"),
    (lambda memory: memory.revenue.append(0.1, "EUR", source="s"), "Floats are not exact"),
    (lambda memory: memory.revenue.append(float("nan"), "EUR", source="s"), "amount must be"),
    (lambda memory: memory.revenue.append(float("inf"), "EUR", source="s"), "amount must be"),
    (lambda memory: memory.revenue.append(Decimal("NaN"), "EUR", source="s"), "amount must be"),
    (lambda memory: memory.revenue.append(Decimal("sNaN"), "EUR", source="s"), "amount must be"),
    (lambda memory: memory.revenue.append(Decimal("-Infinity"), "EUR", source="s"), "amount must be"),
    (lambda memory: memory.revenue.append(Decimal("1E+20"), "EUR", source="s"), "amount must be"),
    (lambda memory: memory.revenue.append(Decimal("1E-19"), "EUR", source="s"), "amount must be"),
    (lambda memory: memory.revenue.append(10**20, "EUR", source="s"), "amount must be"),
    (lambda memory: memory.revenue.append("1e3", "EUR", source="s"), "amount must be"),
    (lambda memory: memory.revenue.append("1,50", "EUR", source="s"), "amount must be"),
    (lambda memory: memory.revenue.append("１２", "EUR", source="s"), "amount must be"),
    (lambda memory: memory.revenue.append("12\n", "EUR", source="s"), "amount must be"),
    (lambda memory: memory.revenue.append("", "EUR", source="s"), "amount must be"),
    (lambda memory: memory.revenue.append(True, "EUR", source="s"), "amount must be"),
    (lambda memory: memory.revenue.append(None, "EUR", source="s"), "amount must be"),
    (lambda memory: memory.revenue.append(1, "EURO", source="s"), "currency must be a code of 3 letters"),
    (lambda memory: memory.revenue.append(1, "€€€", source="s"), "currency"),
    (lambda memory: memory.revenue.append(1, 978, source="s"), "currency"),
    (lambda memory: memory.revenue.append(1, "EUR", source=""), "source"),
    (lambda memory: memory.revenue.append(1, "EUR", source="s", description=""), "description"),
    (
        lambda memory: memory.revenue.append(1, "EUR", source="s", description="x" * 8193),
        "limit is 8,192",
    ),
    (
        lambda memory: memory.revenue.append(1, "EUR", source="s", metadata="x"),
        "metadata must be a mapping",
    ),
    (lambda memory: memory.errors.record("", "m"), "kind"),
    (lambda memory: memory.errors.record("k" * 257, "m"), "kind"),
    (lambda memory: memory.errors.record("k", ""), "message must not be empty"),
    (lambda memory: memory.errors.record("k", "m" * 8193), "message has 8,193 characters"),
    (lambda memory: memory.errors.record("k", ValueError("m")), "message must be text, not ValueError"),
    (
        lambda memory: memory.errors.record("k", "m", severity="fatal"),
        "severity must be one of low, medium",
    ),
    (lambda memory: memory.errors.record("k", "m", severity=None), "severity must be one of"),
    (lambda memory: memory.errors.record("k", "m", detail=[("a", 1)]), "detail must be a mapping"),
    (lambda memory: memory.errors.list(severity="fatal"), "severity must be one of"),
    (lambda memory: memory.errors.list(kind=""), "kind"),
    (lambda memory: memory.revenue.list(currency="E"), "currency"),
    (lambda memory: memory.revenue.totals(since="2026"), "since"),
]


async def test_bad_input_is_refused_and_nothing_is_written(
    memory: AsyncMemory, count_rows: CountRows, subtests: pytest.Subtests
) -> None:
    for call, said in BAD_INPUT:
        with subtests.test(said):
            with pytest.raises(InvalidInputError, match=said):
                await call(memory)
            assert count_rows() == 0
