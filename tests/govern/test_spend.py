"""The spend ledger: every call of a language model is counted, and none is made that might exceed a cap."""

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.usage import RequestUsage

from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.errors import ForbiddenError, InvalidInputError, NotFoundError, SpendCapError
from mnemic.govern.spend import LEDGER_KEEP_DAYS, prune
from mnemic.models.spending import PlannedCall, UsedTokens
from mnemic.runtime.call_metrics import ModelCallCounts
from mnemic.runtime.spend_ledger import DatabaseSpendLedger
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.recalled import Recalled
from tests.conftest import AppConnection
from tests.opened import core_of, opened
from tests.scripted_prices import NAME, UNMEASURED, PricedModel
from tests.waiting import wait_for

NOTHING = Decimal(0)
COST = Decimal("0.00045")
"""1,000 tokens of input and 100 of output."""
HYDE: Any = ("vector", "text", "hyde")


@pytest.fixture
def own_database() -> bool:
    """Yes: the tests look at a whole database."""
    return True


def open_with(database: Database, tenant: Tenant, model: PricedModel, **options: Any) -> AsyncMemory:
    return opened(database, tenant, owner=None, embedder="test", llm=model, **options)


async def ask(memory: AsyncMemory) -> Recalled:
    await memory.retain("Alice owns a canoe", owner="alice")
    return await memory.recall("vessel", owner="alice", techniques=HYDE, refuse_below=0)


def planned(microdollars: int | None, *, model: str = NAME) -> PlannedCall:
    return PlannedCall("hyde", model, 1_000, 100, microdollars)


@pytest.fixture
def ledger(database: Database, tenant_a: Tenant) -> DatabaseSpendLedger:
    return DatabaseSpendLedger(lambda: TenantDatabase(database, tenant_a), ModelCallCounts())


async def test_a_call_is_counted_with_tokens_and_price(database: Database, tenant_a: Tenant) -> None:
    memory = open_with(database, tenant_a, PricedModel())
    found = await ask(memory)
    assert (found.notes, found[0].memory.content) == ((), "Alice owns a canoe")
    (line,) = await memory.spend.summary()
    assert (line.day, line.purpose, line.model) == (datetime.now(UTC).date(), "hyde", NAME)
    assert (line.call_count, line.failed_count, line.unpriced_count) == (1, 0, 0)
    assert (line.input_tokens, line.output_tokens, line.usd) == (1_000, 100, COST)
    caps = await memory.spend.caps()
    assert caps.day.spent_usd == caps.month.spent_usd == caps.total.spent_usd == COST
    assert caps.day.cap_usd is caps.month.cap_usd is caps.total.cap_usd is caps.operator_day_cap_usd is None
    assert caps.reserved_usd == 0


async def test_every_purpose_has_its_own_line(database: Database, tenant_a: Tenant) -> None:
    answers = {
        "wordings": ["boat"],
        "passage": "Alice owns a canoe",
        "query": "vessel",
        "scores": [{"number": 1, "score": 1.0}],
    }
    memory = open_with(database, tenant_a, PricedModel(answers), reranker="llm")
    await memory.retain("Alice owns a canoe", owner="alice")
    techniques: Any = ("vector", "text", "expansion", "hyde", "self_query")
    found = await memory.recall("vessel", owner="alice", techniques=techniques, refuse_below=0)
    assert found.notes == ()
    purposes = [line.purpose for line in await memory.spend.summary()]
    assert purposes == ["hyde", "query_expansion", "reranking", "self_query"]
    assert (await memory.spend.caps()).total.spent_usd == 4 * COST


async def test_a_retry_after_an_invalid_answer_is_a_call_of_its_own(
    database: Database, tenant_a: Tenant
) -> None:
    model = PricedModel({"passage": 7})
    memory = open_with(database, tenant_a, model)
    assert "hyde was left out" in (await ask(memory)).notes[0]
    (line,) = await memory.spend.summary()
    assert (line.call_count, line.usd) == (model.request_count, 2 * COST) == (2, 2 * COST)


async def test_a_cap_stops_a_call_before_it_is_made_and_recall_says_so(
    database: Database, tenant_a: Tenant
) -> None:
    model = PricedModel()
    memory = open_with(database, tenant_a, model)
    caps = await memory.spend.set_cap("0.001")
    assert (caps.day.cap_usd, caps.month.cap_usd) == (Decimal("0.001"), None)
    found = await ask(memory)
    assert model.request_count == 0
    assert len(found) == 1, "recall works without the model"
    (note,) = found.notes
    assert note.startswith("hyde was left out: The spend cap of $0.001000 for a day stops this call: $0.00")
    assert "hyde" in found.timings
    assert await memory.spend.summary() == []
    await memory.spend.set_cap(None)
    assert (await ask(memory)).notes == ()
    assert model.request_count == 1


async def test_every_period_has_its_cap(
    database: Database, tenant_a: Tenant, subtests: pytest.Subtests
) -> None:
    model = PricedModel()
    memory = open_with(database, tenant_a, model)
    now = datetime.now(UTC)
    for period, days in (("day", 1), ("month", 31), ("total", 1)):
        with subtests.test(period):
            await memory.spend.set_cap(0, period=period)  # type: ignore[arg-type]
            with pytest.raises(SpendCapError) as stopped:
                await core_of(memory).spend_ledger.reserve(planned(1))
            assert stopped.value.retry_at is not None
            assert now < stopped.value.retry_at <= now + timedelta(days=days)
            await memory.spend.set_cap(None, period=period)  # type: ignore[arg-type]
    await core_of(memory).spend_ledger.reserve(planned(1))


async def test_the_operators_cap_counts_beside_the_tenants(database: Database, tenant_a: Tenant) -> None:
    model = PricedModel()
    memory = open_with(database, tenant_a, model, settings={"spend_cap_usd_per_day": "0.001"})
    await memory.spend.set_cap("100")
    assert (await memory.spend.caps()).operator_day_cap_usd == Decimal("0.001")
    assert "$0.001000 for a day" in (await ask(memory)).notes[0]
    assert model.request_count == 0


async def test_a_model_without_a_known_price_is_counted_and_a_cap_refuses_it(
    database: Database, tenant_a: Tenant, ledger: DatabaseSpendLedger
) -> None:
    memory = opened(database, tenant_a, owner=None)
    model = "ollama:llama3"
    await ledger.settle(await ledger.reserve(planned(None, model=model)), UsedTokens(1_000, 100, None))
    (line,) = await memory.spend.summary()
    assert (line.unpriced_count, line.input_tokens, line.usd) == (1, 1_000, NOTHING)
    await memory.spend.set_cap("1000", period="total")
    with pytest.raises(SpendCapError, match="the price of the language model ollama:llama3 is not known"):
        await ledger.reserve(planned(None, model=model))
    price = await memory.spend.set_price(model, input_usd=1, output_usd="10.5")
    assert (price.model, price.input_usd, price.output_usd) == (model, Decimal(1), Decimal("10.5"))
    assert await memory.spend.prices() == [price]
    await ledger.settle(await ledger.reserve(planned(None, model=model)), UsedTokens(1_000, 100, None))
    (line,) = await memory.spend.summary()
    assert (line.call_count, line.unpriced_count, line.usd) == (2, 1, Decimal("0.00205"))
    await memory.spend.remove_price(model)
    with pytest.raises(NotFoundError):
        await memory.spend.remove_price(model)
    assert await memory.spend.prices() == []


async def test_a_price_set_by_hand_replaces_the_known_one(database: Database, tenant_a: Tenant) -> None:
    memory = open_with(database, tenant_a, PricedModel())
    await memory.spend.set_price(NAME, input_usd=0, output_usd=0)
    await memory.spend.set_cap(0)
    assert (await ask(memory)).notes == (), "a model that costs nothing fits below a cap of nothing"
    assert (await memory.spend.summary())[0].usd == 0


async def test_a_call_that_the_provider_refuses_costs_nothing(database: Database, tenant_a: Tenant) -> None:
    memory = open_with(database, tenant_a, PricedModel(ModelHTTPError(503, "gpt-5-mini")))
    assert "hyde was left out" in (await ask(memory)).notes[0]
    (line,) = await memory.spend.summary()
    assert (line.call_count, line.failed_count, line.usd) == (1, 1, NOTHING)
    assert (await memory.spend.caps()).reserved_usd == 0


async def test_a_call_whose_usage_nobody_knows_counts_as_its_worst_case(
    database: Database, tenant_a: Tenant, subtests: pytest.Subtests
) -> None:
    silent = PricedModel(gate=asyncio.Event())
    for kind, model in (("no usage", PricedModel(usage=UNMEASURED)), ("timeout", silent)):
        with subtests.test(kind):
            memory = open_with(database, tenant_a, model, settings={"llm_timeout_s": 0.2})
            before = (await memory.spend.caps()).total.spent_usd
            await ask(memory)
            caps = await memory.spend.caps()
            assert caps.total.spent_usd - before > 5 * COST
            assert caps.reserved_usd == 0


async def test_a_cancelled_call_counts_as_its_worst_case(database: Database, tenant_a: Tenant) -> None:
    model = PricedModel(gate=asyncio.Event())
    memory = open_with(database, tenant_a, model)
    call = asyncio.create_task(ask(memory))
    await wait_for(lambda: model.request_count == 1)
    caps = await memory.spend.caps()
    assert caps.reserved_usd > 5 * COST
    call.cancel()
    await asyncio.wait({call})
    after = await memory.spend.caps()
    assert (after.reserved_usd, after.total.spent_usd) == (NOTHING, caps.reserved_usd)


async def test_an_expired_reservation_returns_when_the_money_is_needed(
    database: Database, tenant_a: Tenant, ledger: DatabaseSpendLedger
) -> None:
    memory = opened(database, tenant_a, owner=None)
    await memory.spend.set_cap("0.000010")
    dying = DatabaseSpendLedger(lambda: TenantDatabase(database, tenant_a), ModelCallCounts(), lease_s=0)
    lost = await dying.reserve(planned(10))
    assert (await memory.spend.caps()).reserved_usd == Decimal("0.00001")
    kept = await ledger.reserve(planned(10))
    with pytest.raises(SpendCapError):
        await ledger.reserve(planned(1))
    # The process of the first call lives after all: what it spent counts, and its reservation only once.
    await dying.settle(lost, UsedTokens(1, 1, 4))
    await ledger.settle(kept, UsedTokens(1, 1, 5))
    caps = await memory.spend.caps()
    assert (caps.reserved_usd, caps.day.spent_usd) == (NOTHING, Decimal("0.000009"))


async def test_a_call_is_settled_once(
    database: Database, tenant_a: Tenant, ledger: DatabaseSpendLedger
) -> None:
    memory = opened(database, tenant_a, owner=None)
    reserved = await ledger.reserve(planned(10))
    for _ in range(3):
        await ledger.settle(reserved, UsedTokens(1, 1, 5))
    await ledger.fail(reserved)
    caps = await memory.spend.caps()
    assert (caps.reserved_usd, caps.total.spent_usd) == (NOTHING, Decimal("0.000005"))


async def test_on_a_new_day_the_sums_are_those_of_the_ledger(
    database: Database, tenant_a: Tenant, ledger: DatabaseSpendLedger, admin: AppConnection
) -> None:
    memory = opened(database, tenant_a, owner=None)
    await ledger.settle(await ledger.reserve(planned(10)), UsedTokens(1, 1, 5))
    await memory.spend.set_cap("0.000010")
    for day in ("2020-01-31", "2090-01-31"):
        admin.execute(
            "UPDATE state.spend_accounts SET day = %s, month = %s, day_spent_microdollars = 77", (day, day)
        )
        assert (await memory.spend.caps()).day.spent_usd == Decimal("0.000005"), "whatever the clock did"
    admin.execute("UPDATE traces.model_calls SET called_at = called_at - interval '40 days'")
    admin.execute("UPDATE state.spend_accounts SET day = day - 1")
    caps = await memory.spend.caps()
    assert caps.day.spent_usd == caps.month.spent_usd == 0
    assert caps.total.spent_usd == Decimal("0.000005")
    await ledger.reserve(planned(10))


async def test_the_summary_has_a_window(
    database: Database, tenant_a: Tenant, ledger: DatabaseSpendLedger, admin: AppConnection
) -> None:
    memory = opened(database, tenant_a, owner=None)
    for _ in range(2):
        await ledger.settle(await ledger.reserve(planned(10)), UsedTokens(1, 1, 5))
    admin.execute(
        "UPDATE traces.model_calls SET called_at = '2026-03-01 23:30+00'"
        " WHERE call_id = (SELECT min(call_id::text)::uuid FROM traces.model_calls)"
    )
    today, march = await memory.spend.summary()
    assert (str(march.day), today.day > march.day) == ("2026-03-01", True)
    assert await memory.spend.summary(until="2026-03-02") == [march]
    assert await memory.spend.summary(since="2026-03-02", limit=1) == [today]


async def test_old_calls_are_deleted_and_the_sums_stay(
    database: Database, tenant_a: Tenant, ledger: DatabaseSpendLedger, admin: AppConnection
) -> None:
    memory = opened(database, tenant_a, owner=None)
    for _ in range(3):
        await ledger.settle(await ledger.reserve(planned(10)), UsedTokens(1, 1, 5))
    admin.execute(
        "UPDATE traces.model_calls SET called_at = now() - make_interval(days => %s)"
        " WHERE call_id <> (SELECT max(call_id::text)::uuid FROM traces.model_calls)",
        (LEDGER_KEEP_DAYS + 1,),
    )
    assert await prune(TenantDatabase(database, tenant_a), limit=100) == 2
    assert len(await memory.spend.summary()) == 1
    assert (await memory.spend.caps()).total.spent_usd == Decimal("0.000015")


async def test_changes_are_audited_and_need_the_whole_tenant(database: Database, tenant_a: Tenant) -> None:
    memory = opened(database, tenant_a, owner=None)
    await memory.spend.set_cap("5.00", period="month")
    await memory.spend.set_price("m", input_usd=1, output_usd=2)
    await memory.spend.remove_price("m")
    acts = [(act.action, act.target) for act in await memory.audit.list() if act.phase == "succeeded"]
    assert acts == [("remove_model_price", "m"), ("set_model_price", "m"), ("set_spend_cap", "month")]
    alice = opened(database, tenant_a)
    for change in (
        alice.spend.set_cap(1),
        alice.spend.set_price("m", input_usd=1, output_usd=2),
        alice.spend.remove_price("m"),
    ):
        with pytest.raises(ForbiddenError):
            await change
    assert (await alice.spend.caps()).month.cap_usd == 5


async def test_wild_usage_is_bounded(database: Database, tenant_a: Tenant, subtests: pytest.Subtests) -> None:
    for tokens in (-5, 10**30):
        with subtests.test(str(tokens)):
            usage = RequestUsage(input_tokens=tokens, output_tokens=tokens)
            memory = open_with(database, tenant_a, PricedModel(usage=usage))
            await ask(memory)
            line = (await memory.spend.summary())[0]
            assert line.input_tokens >= 0
            assert (await memory.spend.caps()).reserved_usd == 0


async def test_invalid_amounts_are_refused(
    database: Database, tenant_a: Tenant, subtests: pytest.Subtests
) -> None:
    tenant = opened(database, tenant_a, owner=None)
    wrong: tuple[Any, ...] = (-1, "-1", "1e3", "NaN", Decimal("Infinity"), 1.5, True, "0.0000001", 10**10, "")
    for usd in wrong:
        with subtests.test(repr(usd)):
            with pytest.raises(InvalidInputError, match="usd must be an int"):
                await tenant.spend.set_cap(usd)
            with pytest.raises(InvalidInputError, match="output_usd must be an int"):
                await tenant.spend.set_price("m", input_usd=1, output_usd=usd)
    with pytest.raises(InvalidInputError, match="period must be one of day, month, total"):
        await tenant.spend.set_cap(1, period="week")  # type: ignore[arg-type]
    caps = await tenant.spend.caps()
    assert caps.day.cap_usd is None
