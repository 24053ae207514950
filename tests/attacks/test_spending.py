"""Attacks on the spend ledger: nobody exceeds a cap, forges a call, or sees what others spend."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import httpx
import psycopg
import pytest
from pydantic import BaseModel
from pydantic_ai.usage import RequestUsage

from mnemic.db.access import Access
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.errors import MnemicError, SpendCapError
from mnemic.models.language import LanguageModel
from mnemic.models.spending import PlannedCall, Reservation, UsedTokens
from mnemic.recall.query_expansion import hypothetical_memory
from mnemic.runtime.call_metrics import ModelCallCounts
from mnemic.runtime.spend_ledger import DatabaseSpendLedger
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.identity import new_id
from tests.attacks.http_server import attacked_server, new_key
from tests.attacks.spending_process import WORST
from tests.conftest import AppConnection, ConnectAs
from tests.many_writers import wide_database
from tests.opened import core_of, opened
from tests.running_folder import running
from tests.scripted_prices import PricedModel
from tests.server.running import RunningServer
from tests.waiting import wait_for

CALLS = 100
SECRET = "the combination is 4711"
HYDE: Any = ("vector", "text", "hyde")


class _Reply(BaseModel):
    passage: str


@pytest.fixture(scope="module")
def attacked(memory_dir: Path) -> Iterator[RunningServer]:
    for folder in running(memory_dir / "spending"):
        with attacked_server(folder) as server:
            yield server


async def used(memory: AsyncMemory) -> Decimal:
    caps = await memory.spend.caps()
    return caps.day.spent_usd + caps.reserved_usd


def model_of(memory: AsyncMemory) -> LanguageModel:
    model = core_of(memory).language_model
    assert model is not None
    return model


async def call(memory: AsyncMemory, text: str = "vessel", **options: Any) -> bool:
    """Whether a call was made, or a cap stopped it."""
    try:
        await hypothetical_memory(model_of(memory), text, timeout_s=60, **options)
    except SpendCapError:
        return False
    return True


async def _begun(model: PricedModel, task: asyncio.Task[bool], before: int) -> None:
    await wait_for(lambda: task.done() or model.request_count > before)


async def test_100_parallel_calls_never_exceed_the_cap(access: Access, tenant_a: Tenant) -> None:
    """Each call costs a random part of its worst case; at every moment the sum is at most the cap."""
    random = Random(7)
    gate = asyncio.Event()
    models = [
        PricedModel(usage=RequestUsage(input_tokens=random.randrange(900), output_tokens=100), gate=gate)
        for _ in range(CALLS)
    ]
    async with wide_database(access) as database:
        memories = [opened(database, tenant_a, owner=None, llm=model) for model in models]
        cap = Decimal("0.1")
        await memories[0].spend.set_cap(cap)
        calls = [asyncio.create_task(call(memory)) for memory in memories]
        sums: list[Decimal] = []
        while not all(task.done() or model.request_count for task, model in zip(calls, models, strict=True)):
            sums.append(await used(memories[0]))
        gate.set()
        while not all(task.done() for task in calls):
            sums.append(await used(memories[0]))
            await asyncio.sleep(0)
        made = sum([await task for task in calls])
        assert max(sums) <= cap
        assert 0 < made < CALLS, "some calls were made, and the cap stopped the others"
        assert made == sum(model.request_count for model in models)
        (line,) = await memories[0].spend.summary()
        assert (line.call_count, line.usd) == (made, await used(memories[0]))


async def test_several_processes_never_exceed_the_cap(
    access: Access, database: Database, tenant_a: Tenant
) -> None:
    """One of them is killed in the middle: what it had reserved stays reserved until its lease ends."""
    memory = opened(database, tenant_a, owner=None)
    cap = 6_000
    await memory.spend.set_cap(Decimal(cap).scaleb(-6))
    orders = {"conninfo": access.conninfo(), "key": access.key.secret.hex(), "tenant_id": str(tenant_a.id)}
    dying, *others = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.attacks.spending_process",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    assert dying.stdin is not None
    assert dying.stdout is not None
    dying.stdin.write(json.dumps({**orders, "dies": "yes"}).encode())
    dying.stdin.close()
    # The others could spend everything before it has begun.
    first = await dying.stdout.readline()
    outputs = await asyncio.gather(
        dying.communicate(), *(process.communicate(json.dumps(orders).encode()) for process in others)
    )
    spent = [int(line) for out in (first, *(output for output, _ in outputs)) for line in out.split()]
    assert dying.returncode != 0, "it was killed"
    assert sum(spent) <= cap
    assert sum(spent) > cap - 20 * WORST, "the cap was used"
    assert await used(memory) <= Decimal(cap).scaleb(-6)


async def test_a_cap_that_is_lowered_during_calls_holds_for_the_next_ones(
    access: Access, tenant_a: Tenant
) -> None:
    gate = asyncio.Event()
    async with wide_database(access) as database:
        model = PricedModel(gate=gate)
        memory = opened(database, tenant_a, owner=None, llm=model)
        await memory.spend.set_cap(1)
        calls = [asyncio.create_task(call(memory)) for _ in range(10)]
        await wait_for(lambda: model.request_count == 10)
        await memory.spend.set_cap(0)
        assert not await call(memory)
        gate.set()
        await asyncio.gather(*calls)
        assert not await call(memory)
        assert (await memory.spend.caps()).reserved_usd == 0


async def test_whoever_cancels_every_call_does_not_call_for_free(
    database: Database, tenant_a: Tenant
) -> None:
    model = PricedModel(gate=asyncio.Event())
    memory = opened(database, tenant_a, owner=None, llm=model)
    await memory.spend.set_cap("0.02")
    for _ in range(20):
        task, before = asyncio.create_task(call(memory)), model.request_count
        await _begun(model, task, before)
        task.cancel()
        await asyncio.wait({task})
    assert model.request_count < 10
    assert not await call(memory)


async def test_caps_and_sums_of_tenants_are_apart(
    database: Database, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    mine, other = (opened(database, tenant, owner=None, llm=PricedModel()) for tenant in (tenant_a, tenant_b))
    await mine.spend.set_cap(0)
    await mine.spend.set_price("openai:gpt-5-mini", input_usd=1, output_usd=100_000)
    assert not await call(mine)
    assert await call(other)
    assert await mine.spend.summary() == []
    assert (await mine.spend.caps()).total.spent_usd == 0
    assert await other.spend.prices() == []
    assert (await other.spend.caps()).day.cap_usd is None


async def test_no_sql_of_a_tenant_reaches_the_account_of_another(
    database: Database,
    tenant_a: Tenant,
    tenant_b: Tenant,
    connect_as: ConnectAs,
    admin: AppConnection,
    subtests: pytest.Subtests,
) -> None:
    victim = opened(database, tenant_b, owner=None)
    await victim.spend.set_cap(5)
    ledger = core_of(victim).spend_ledger
    reserved = await ledger.reserve(PlannedCall("other", "m", 1, 1, 100))
    before = admin.execute("SELECT * FROM state.spend_accounts").fetchall()
    statements = (
        "SELECT mnemic.reserve_spend(%(b)s, 'other', 'm', 1, 1, 1000000, NULL, 60)",
        "SELECT mnemic.settle_spend(%(b)s, %(call)s, 1, 1, 0, true)",
        "SELECT mnemic.expire_reservations(%(b)s)",
        "SELECT mnemic.spend_account(%(b)s)",
        "UPDATE state.spend_accounts SET day_cap_microdollars = 0",
        "INSERT INTO state.spend_accounts (tenant_id, day, month) VALUES (%(b)s, now(), now())",
        "DELETE FROM traces.model_calls",
        "INSERT INTO state.model_prices (tenant_id, model, input_usd, output_usd) VALUES (%(b)s, 'm', 9, 9)",
    )
    for statement in statements:
        with subtests.test(statement):
            connection = connect_as(tenant_a)
            try:
                connection.execute(statement, {"b": tenant_b.id, "call": reserved.call_id})
                connection.execute("COMMIT")
            except psycopg.Error:
                pass
            finally:
                connection.close()
    accounts = admin.execute(
        "SELECT * FROM state.spend_accounts WHERE tenant_id = %s", (tenant_b.id,)
    ).fetchall()
    assert accounts == [row for row in before if row[0] == tenant_b.id]
    assert await victim.spend.prices() == []
    await ledger.settle(reserved, UsedTokens(1, 1, 1))
    assert (await victim.spend.caps()).total.spent_usd == Decimal("0.000001")


async def test_forged_calls_are_refused(
    database: Database, tenant_a: Tenant, subtests: pytest.Subtests
) -> None:
    """Purposes, amounts and ids that no code of ours makes: nothing is called and nothing is counted."""
    model = PricedModel()
    memory = opened(database, tenant_a, owner=None, llm=model)
    forged: tuple[Any, ...] = ("", "free", "other'; DROP TABLE traces.model_calls; --", "x" * 10_000)
    for purpose in forged:
        with subtests.test(f"purpose {purpose[:20]}"), pytest.raises(MnemicError):
            await model_of(memory).answer("Say hello.", "x", _Reply, timeout_s=60, purpose=purpose)
    ledger = core_of(memory).spend_ledger
    for name, planned in {
        "negative": PlannedCall("other", "m", -1, -1, -(10**9)),
        "too large": PlannedCall("other", "m", 2**63, 1, 1),
        "no name": PlannedCall("other", "", 1, 1, 1),
        "long name": PlannedCall("other", "m" * 10_000, 1, 1, 1),
    }.items():
        with subtests.test(name), pytest.raises(MnemicError):
            await ledger.reserve(planned)
    with subtests.test("unknown id"):
        await ledger.settle(Reservation(new_id(), "other"), UsedTokens(1, 1, 10**6))
    with subtests.test("negative cost"):
        reserved = await ledger.reserve(PlannedCall("other", "m", 1, 1, 5))
        with pytest.raises(MnemicError):
            await ledger.settle(reserved, UsedTokens(1, 1, -5))
        await ledger.fail(reserved)
    assert model.request_count == 0
    caps = await memory.spend.caps()
    assert caps.total.spent_usd == caps.reserved_usd == 0


async def test_absurd_costs_do_not_overflow(database: Database, tenant_a: Tenant) -> None:
    memory = opened(database, tenant_a, owner=None)
    ledger = core_of(memory).spend_ledger
    await memory.spend.set_price("m", input_usd=100_000, output_usd=100_000)
    for _ in range(3):
        reserved = await ledger.reserve(PlannedCall("other", "m", 2**62, 2**62, None))
        await ledger.settle(reserved, UsedTokens(2**62, 2**62, None))
    caps = await memory.spend.caps()
    assert (caps.reserved_usd, caps.total.spent_usd) == (Decimal(0), Decimal(3 * 10**9))
    await memory.spend.set_cap(10**9)
    with pytest.raises(SpendCapError):
        await ledger.reserve(PlannedCall("other", "x", 1, 1, 1))


async def test_the_ledger_holds_no_text_and_no_owner(
    database: Database, tenant_a: Tenant, admin: AppConnection
) -> None:
    memory = opened(database, tenant_a, owner=None, embedder="test", llm=PricedModel({"passage": SECRET}))
    await memory.retain(SECRET, owner="whistleblower")
    found = await memory.recall(SECRET, owner="whistleblower", techniques=HYDE)
    assert found.notes == ()
    for table in ("traces.model_calls", "state.spend_accounts", "state.model_prices"):
        rows = admin.execute(f"SELECT row_to_json(each)::text FROM {table} AS each").fetchall()
        stored = " ".join(str(row[0]) for row in rows)
        assert "combination" not in stored
        assert "whistleblower" not in stored
    assert (await memory.spend.summary())[0].call_count == 1


async def test_a_lost_ledger_stops_calls(access: Access, tenant_a: Tenant) -> None:
    """Without the ledger nobody knows whether a call is allowed, so it is not made."""
    model = PricedModel()
    async with wide_database(access) as database:
        place = TenantDatabase(database, tenant_a)
        memory = opened(database, tenant_a, owner=None, llm=model)
        metered = model_of(memory)
    ledger = DatabaseSpendLedger(lambda: place, ModelCallCounts())
    with pytest.raises(MnemicError):
        await metered.metered(ledger).answer("Say hello.", "x", _Reply, timeout_s=60)
    assert model.request_count == 0


def test_only_an_administrator_changes_caps(attacked: RunningServer, subtests: pytest.Subtests) -> None:
    tenant = "spending"
    requests: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("PUT", "/v1/spend-caps", {"usd": None}),
        ("PUT", "/v1/spend-caps", {"usd": "1000000", "period": "total"}),
        ("PUT", "/v1/model-prices/m", {"input_usd": 0, "output_usd": 0}),
        ("DELETE", "/v1/model-prices/m", {}),
    )
    with attacked.client(new_key(attacked, "admin", tenant).key) as admin:
        assert admin.put("/v1/spend-caps", json={"usd": "1.5"}).status_code == 200
        for role, options in (("read", {}), ("write", {}), ("write", {"owner": "alice"})):
            with attacked.client(new_key(attacked, role, tenant, **options).key) as client:  # type: ignore[arg-type]
                for method, path, body in requests:
                    with subtests.test(f"{role} {options} {method} {path}"):
                        assert client.request(method, path, json=body or None).status_code == 403
                with subtests.test(f"{role} {options} reads"):
                    assert client.get("/v1/spend").status_code == (403 if options else 200)
        assert admin.get("/v1/spend-caps").json()["day"]["cap_usd"] == "1.5"


def test_malformed_caps_over_http_change_nothing(attacked: RunningServer, subtests: pytest.Subtests) -> None:
    with attacked.client(new_key(attacked, "admin", "malformed caps").key) as admin:
        bodies: tuple[Any, ...] = (
            {"usd": -1},
            {"usd": "-0.01"},
            {"usd": "1e9"},
            {"usd": 1e300},
            {"usd": "9" * 5_000},
            {"usd": 10**400},
            {"usd": True},
            {"usd": ["1"]},
            {"usd": {"usd": 1}},
            {"usd": "NaN"},
            {"usd": "١"},
            {},
        )
        for body in bodies:
            with subtests.test(str(body)[:40]):
                response = admin.put(
                    "/v1/spend-caps",
                    content=json.dumps(body),
                    headers={"Content-Type": "application/json"},
                )
                assert response.status_code in (400, 422), response.text
        for period in ("week", "day\0", "DAY", "", None, 7, ["day"], "day'; --"):
            with subtests.test(repr(period)):
                response = admin.put("/v1/spend-caps", json={"usd": "1", "period": period})
                assert response.status_code in (400, 422), response.text
        caps = admin.get("/v1/spend-caps").json()
        assert [caps[period]["cap_usd"] for period in ("day", "month", "total")] == [None, None, None]


def test_a_key_sees_only_the_ledger_of_its_tenant(attacked: RunningServer) -> None:
    clients: list[httpx.Client] = [attacked.client(new_key(attacked, "admin").key) for _ in range(2)]
    with clients[0] as mine, clients[1] as other:
        mine.put("/v1/spend-caps", json={"usd": "3"})
        mine.put("/v1/model-prices/secret-model", json={"input_usd": 1, "output_usd": 1})
        assert other.get("/v1/spend-caps").json()["day"]["cap_usd"] is None
        assert other.get("/v1/model-prices").json() == []
        assert other.delete("/v1/model-prices/secret-model").status_code == 404


async def test_changing_a_cap_wakes_no_other_job(
    database: Database, tenant_a: Tenant, tenant_b: Tenant, admin: AppConnection
) -> None:
    """Neither jobs that are scheduled for later, nor parked ones of another tenant."""
    memories = [opened(database, tenant, owner=None) for tenant in (tenant_a, tenant_b)]
    for memory in memories:
        for _ in range(2):
            await memory.jobs.enqueue("ask", run_at="2090-01-01")
    parked = "SELECT tenant_id, max(job_id::text)::uuid FROM queue.jobs GROUP BY 1"
    admin.execute(f"UPDATE queue.jobs SET claims = 1 WHERE (tenant_id, job_id) IN ({parked})")
    admin.execute(
        "INSERT INTO queue.attempts (tenant_id, job_id, claim, outcome, error, worker, started_at)"
        " SELECT tenant_id, job_id, 1, 'handed_back',"
        ' \'{"type": "SpendCapError", "message": "A cap.", "traceback": ""}\', \'w\', now()'
        " FROM queue.jobs WHERE claims = 1"
    )
    await memories[0].spend.set_cap(1)
    woken = [[job.run_at.year < 2090 for job in await memory.jobs.list(type="ask")] for memory in memories]
    assert sorted(woken[0]) == [False, True]
    assert woken[1] == [False, False]
