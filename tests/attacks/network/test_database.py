"""A network that loses everything between this process and PostgreSQL: errors in time, and recovery."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest

from mnemic.db.connection import DETECT_LOST_PEER, with_session
from mnemic.db.database import Database
from mnemic.errors import DatabaseUnavailableError
from mnemic.sdk.memory import AsyncMemory
from tests.attacks.network.conftest import SHORT
from tests.opened import opened
from tests.stalling_proxy import StallingProxy

# Far above the limit of 2.5 s for an answer, far below the time that a test may take.
PATIENCE_S = 60.0


@pytest.fixture
async def memory(stalling_database: Database) -> AsyncMemory:
    tenant = await stalling_database.open_tenant(f"tenant {uuid4()}")
    memory = opened(stalling_database, tenant, embedder="test")
    await memory.retain("Alice lives in Berlin.")
    return memory


async def test_a_stalled_network_ends_each_call_in_time_and_the_next_one_works(
    memory: AsyncMemory, proxy: StallingProxy, subtests: pytest.Subtests
) -> None:
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "retain": lambda: memory.retain(f"Fact {uuid4()}."),
        "recall": lambda: memory.recall("Where does Alice live?"),
        "list": lambda: memory.memories.list(),
        "enqueue": lambda: memory.jobs.enqueue("some.job"),
    }
    for label, call in calls.items():
        with subtests.test(label):
            proxy.stall()
            async with asyncio.timeout(PATIENCE_S):
                with pytest.raises(DatabaseUnavailableError):
                    await call()
            proxy.resume()
            async with asyncio.timeout(PATIENCE_S):
                await call()


async def test_a_statement_under_way_ends_when_the_network_stalls(
    stalling_database: Database, memory: AsyncMemory, proxy: StallingProxy
) -> None:
    async def stall_in_a_transaction() -> None:
        async with stalling_database.transaction(memory.tenant) as transaction:
            proxy.stall()
            await transaction.connection.execute("SELECT 1")

    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(DatabaseUnavailableError, match=r"no answer within 2\.5 s.*may or may not"):
            await stall_in_a_transaction()
    proxy.resume()
    assert len(await memory.memories.list()) == 1


async def test_only_one_call_waits_for_a_pool_of_stalled_connections(
    memory: AsyncMemory, proxy: StallingProxy
) -> None:
    await asyncio.gather(*(memory.memories.list() for _ in range(20)))
    proxy.stall()
    with pytest.raises(DatabaseUnavailableError):
        await memory.memories.list()
    proxy.resume()
    began_s = time.monotonic()
    for _ in range(SHORT.pool_size + 1):
        assert len(await memory.memories.list()) == 1
    assert time.monotonic() - began_s < PATIENCE_S


async def test_connecting_through_a_stalled_network_ends_in_time(
    stalling_database: Database, proxy: StallingProxy
) -> None:
    proxy.stall()
    fresh = Database(stalling_database.access, SHORT)
    try:
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(DatabaseUnavailableError):
                await fresh.open()
    finally:
        await fresh.aclose()


def test_every_session_notices_a_lost_peer_unless_its_url_says_otherwise() -> None:
    usual = with_session("postgresql://host/db", SHORT, statement_timeout_s=1)
    for name, value in DETECT_LOST_PEER.items():
        assert f"{name}={value}" in usual.split()
    own = with_session("postgresql://host/db?tcp_user_timeout=7", SHORT, statement_timeout_s=1)
    assert "tcp_user_timeout=7" in own.split()
