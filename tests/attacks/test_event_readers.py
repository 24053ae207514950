"""Many readers of events in one tenant: they cost the others next to nothing.

Work is counted in connections taken from the pool: each read of the log takes one.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.events import signal
from mnemic.sdk.memory import AsyncMemory
from tests.opened import opened
from tests.waiting import wait_for

READERS = 30
WRITES = 5
NEVER_S = 3600.0


@dataclass
class Readers:
    """What each reader has seen."""

    seen: list[list[str]] = field(default_factory=list)

    def have_all_seen(self, subject: str) -> bool:
        return len(self.seen) == READERS and all(subject in subjects for subjects in self.seen)


@asynccontextmanager
async def reading(memory: AsyncMemory, owners: list[str | None]) -> AsyncIterator[Readers]:
    """Readers that have seen the first event and wait for the next."""
    readers = Readers([[] for _ in owners])

    async def read(seen: list[str], owner: str | None) -> None:
        async for event in memory.events.subscribe(start="beginning", owner=owner):
            seen.append(event.subject)

    await memory.state.set("first", 1)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read(*each)) for each in zip(readers.seen, owners, strict=True)]
        await wait_for(lambda: readers.have_all_seen("first"))
        yield readers
        for task in tasks:
            task.cancel()


def connections_taken(database: Database) -> int:
    return database.pool_statistics().get("requests_num", 0)


@pytest.fixture(autouse=True)
def _without_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "POLL_S", NEVER_S)


async def test_writes_of_one_tenant_cost_no_reads_of_the_readers_of_another(
    database: Database, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    hostile, honest = opened(database, tenant_a), opened(database, tenant_b)
    async with reading(hostile, [None] * READERS) as readers:
        before = connections_taken(database)
        for number in range(WRITES):
            await honest.state.set(f"key {number}", number)
        # The last write is the readers' own, so that they certainly were woken.
        await hostile.state.set("last", 1)
        await wait_for(lambda: readers.have_all_seen("last"))
        assert connections_taken(database) - before < WRITES * READERS / 2


async def test_readers_of_the_same_events_share_their_reads(database: Database, tenant_a: Tenant) -> None:
    memory = opened(database, tenant_a)
    async with reading(memory, [None] * READERS) as readers:
        before = connections_taken(database)
        for number in range(WRITES):
            await memory.state.set(f"key {number}", number)
            await wait_for(lambda: readers.have_all_seen(f"key {number}"))  # noqa: B023
        assert connections_taken(database) - before < WRITES * READERS / 2
