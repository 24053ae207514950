"""Slots for heavy work: a tenant rests between its calls while others call."""

import asyncio
from uuid import UUID, uuid4

import pytest

from mnemic.config import Settings
from mnemic.db.database import Database
from mnemic.runtime import fair_slots
from mnemic.runtime.fair_slots import FairSlots
from mnemic.runtime.recent_tenants import RECENT_S, RecentTenants
from mnemic.runtime.storage import Storage
from mnemic.sdk.tenants import Tenants

HEAVY, OTHER, THIRD = uuid4(), uuid4(), uuid4()
TIMEOUT_S = 60.0


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(fair_slots, "monotonic", clock)
    return clock


async def work(slots: FairSlots, tenant_id: UUID, clock: Clock, seconds: float) -> None:
    async with asyncio.timeout(TIMEOUT_S), slots.slot(tenant_id):
        clock.now_s += seconds


async def test_a_tenant_rests_as_long_as_it_worked_while_others_call(clock: Clock) -> None:
    slots = FairSlots(4, what="documents", rests=lambda tenant_id: True)
    await work(slots, HEAVY, clock, 2 * TIMEOUT_S)
    resting = asyncio.create_task(work(slots, HEAVY, clock, 0))
    await work(slots, OTHER, clock, 0)
    assert not resting.done()
    clock.now_s += fair_slots.REST_MAX_S
    await work(slots, HEAVY, clock, 0)
    resting.cancel()
    await asyncio.gather(resting, return_exceptions=True)


async def test_after_its_rest_a_tenant_works_on(clock: Clock) -> None:
    slots = FairSlots(2, what="documents", rests=lambda tenant_id: True)
    for _ in range(3):
        await work(slots, HEAVY, clock, 0.01)


async def test_a_tenant_that_is_alone_does_not_rest(clock: Clock) -> None:
    slots = FairSlots(2, what="documents", rests=lambda tenant_id: False)
    for _ in range(3):
        await work(slots, HEAVY, clock, 2 * TIMEOUT_S)


async def test_the_tenants_of_a_server_know_of_the_calls_of_others(shared_database: Database) -> None:
    tenant = await shared_database.open_tenant(f"tenant {uuid4()}")
    storage = Storage(shared_database, tenant, server=None)
    async with Tenants(Settings(), embedder="test", storage=storage) as tenants:
        heavy = await tenants.core(f"tenant {uuid4()}")
        assert not heavy.reading_slots._rests(heavy.tenant.id)
        other = (await tenants.memory(f"tenant {uuid4()}")).scope(owner="alice")
        await other.recall("Where does Alice live?")
        assert heavy.reading_slots._rests(heavy.tenant.id)


def test_a_tenant_is_alone_when_no_other_has_called_lately() -> None:
    clock = Clock()
    recent = RecentTenants(clock)
    for tenant_id in (HEAVY, HEAVY):
        recent.note(tenant_id)
    assert (recent.has_others(HEAVY), recent.has_others(OTHER)) == (False, True)
    for tenant_id in (OTHER, THIRD, HEAVY):
        recent.note(tenant_id)
    assert recent.has_others(HEAVY)
    clock.now_s += RECENT_S + 0.1
    recent.note(HEAVY)
    assert not recent.has_others(HEAVY)
