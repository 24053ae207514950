"""Named consumers over HTTP: lost connections, lost responses, restarts, permissions."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from mnemic import AsyncMemory
from mnemic.errors import ConflictError, ForbiddenError
from mnemic.events import following
from mnemic.sdk.http import connection, event_stream
from mnemic.types.event import EventConsumer
from tests.server.conftest import OpenClient
from tests.server.disconnecting_proxy import disconnecting_proxy
from tests.server.running import TLS, RunningServer, running_server
from tests.server.test_authentication import is_problem
from tests.waiting import wait_for_async

EVENTS = 60
DEADLINE_S = 60.0
NAME = "my cache"
TAKE = "/v1/event-consumers/my%20cache/take"
MOVE = "/v1/event-consumers/my%20cache/move"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits for long."""
    monkeypatch.setattr(connection, "BACKOFF_FIRST_S", 0.001)
    monkeypatch.setattr(event_stream, "RECONNECT_DELAY_S", 0.01)
    monkeypatch.setattr(following, "FIRST_RETRY_S", 0.01)


@asynccontextmanager
async def remote(url: str, key: str, **options: Any) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(url, api_key=key, owner="alice", **options) as memory:
        yield memory


def set_many(server: RunningServer, tenant: str, *keys: str) -> None:
    memory = server.memory(tenant).scope(owner="alice")
    for key in keys:
        server.run(memory.state.set(key, 1))


def consumer_of(server: RunningServer, tenant: str) -> EventConsumer:
    (consumer,) = server.run(server.memory(tenant).events.consumers())
    return consumer


@pytest.mark.parametrize("seed", range(4))
async def test_each_event_is_delivered_once_although_connections_break(
    server: RunningServer, tenant: str, seed: int
) -> None:
    """Streams break within an event, and responses to moves get lost and are sent again."""
    keys = [f"key {number}" for number in range(EVENTS)]
    set_many(server, tenant, *keys)
    lives = random.Random(seed)
    seen: list[str] = []
    async with (
        disconnecting_proxy(server.url, lambda: lives.randint(900, 4000)) as (proxy, url),
        remote(url, server.create_key(tenant, "write").key) as memory,
        aclosing(memory.events.subscribe(NAME, start="beginning")) as events,  # type: ignore[type-var]
    ):
        async with asyncio.timeout(DEADLINE_S):
            async for event in events:
                # The position covers every event before, and no other.
                assert consumer_of(server, tenant).position == event.position - 1
                seen.append(event.subject)
                if len(seen) == EVENTS:
                    break
        assert proxy.cut_count >= 10
    assert seen == keys


async def test_a_consumer_survives_a_restart_of_the_server(server_folder: Path, tenant: str) -> None:
    with running_server(server_folder) as first:
        key = first.create_key(tenant, "write").key
        set_many(first, tenant, "one", "two", "three")
        async with disconnecting_proxy(first.url) as (proxy, url), remote(url, key) as memory:
            events = memory.events.subscribe(NAME, start="beginning")
            assert [(await anext(events)).subject for _ in range(2)] == ["one", "two"]
            await asyncio.to_thread(first.stop)
            await wait_for_async(lambda: is_gone(first.url))
            # The second event is handled while no server is running.
            third = asyncio.ensure_future(anext(events))
            with running_server(server_folder) as second:
                proxy.target = second.url
                async with asyncio.timeout(DEADLINE_S):
                    assert (await third).subject == "three"
                    assert consumer_of(second, tenant).position == 2
                    waiting = asyncio.ensure_future(anext(events))
                    await asyncio.to_thread(set_many, second, tenant, "four")
                    assert (await waiting).subject == "four"
                await events.aclose()  # type: ignore[attr-defined]
                # The reader restarts, too: the fourth event was delivered but not acknowledged.
                async with remote(url, key) as again:
                    events = again.events.subscribe(NAME)
                    assert (await anext(events)).subject == "four"
                    await events.aclose()  # type: ignore[attr-defined]


async def test_reconnecting_does_not_take_the_consumer_again(server: RunningServer, tenant: str) -> None:
    """The reader that took it last keeps it."""
    set_many(server, tenant, "one", "two", "three")
    key = server.create_key(tenant, "write").key
    async with (
        disconnecting_proxy(server.url) as (proxy, url),
        remote(url, key) as older,
        remote(server.url, key) as newer,
        aclosing(older.events.subscribe(NAME, start="beginning")) as mine,  # type: ignore[type-var]
        aclosing(newer.events.subscribe(NAME)) as theirs,  # type: ignore[type-var]
    ):
        assert (await anext(mine)).subject == "one"
        assert (await anext(theirs)).subject == "one"
        proxy.cut()
        with pytest.raises(ConflictError):
            await anext(mine)
        assert [(await anext(theirs)).subject for _ in range(2)] == ["two", "three"]


async def test_a_position_moves_past_filtered_events(server_folder: Path, tenant: str) -> None:
    with running_server(server_folder, heartbeat_s=0.05) as server:
        key = server.create_key(tenant, "write").key
        async with (
            remote(server.url, key) as memory,
            aclosing(memory.events.subscribe(NAME, types=["state.deleted"], start="beginning")) as events,  # type: ignore[type-var]
        ):
            waiting = asyncio.ensure_future(anext(events))
            await asyncio.to_thread(set_many, server, tenant, "one", "two")
            await wait_for_async(lambda: stands_behind(memory, 2))
            await memory.state.delete("one")
            async with asyncio.timeout(DEADLINE_S):
                assert (await waiting).subject == "one"
        assert consumer_of(server, tenant).types == ("state.deleted",)


async def test_a_read_key_streams_without_a_consumer(server: RunningServer, tenant: str) -> None:
    set_many(server, tenant, "one")
    held: dict[str, Any] = {"reader": uuid4(), "expected": 0, "position": 1}
    async with remote(server.url, server.create_key(tenant, "read").key) as memory:
        with pytest.raises(ForbiddenError, match="role write"):
            await anext(memory.events.subscribe(NAME, start="beginning"))
        with pytest.raises(ForbiddenError, match="role write"):
            await memory.events.move_consumer(NAME, **held)
        assert await memory.events.consumers() == []
        async with aclosing(memory.events.subscribe(start="beginning")) as events:  # type: ignore[type-var]
            assert (await anext(events)).subject == "one"


def test_a_read_key_cannot_move_a_consumer(client_as: OpenClient, writer: httpx.Client) -> None:
    reading = writer.post(TAKE, json={"start": "beginning"}).json()
    held = {"reader": reading["reader"], "expected": 0, "position": 0}
    assert is_problem(client_as("read").post(MOVE, json=held), 403, "ForbiddenError")
    assert is_problem(client_as("read").post(TAKE, json={}), 403, "ForbiddenError")
    bobs = client_as("write", owner="bob")
    assert is_problem(bobs.post(MOVE, json=held), 409, "ConflictError"), "it follows everybody"
    assert is_problem(bobs.post(TAKE, json={}), 409, "ConflictError")
    assert writer.post(MOVE, json=held).status_code == 204


async def stands_behind(memory: AsyncMemory, position: int) -> bool:
    return any(consumer.position >= position for consumer in await memory.events.consumers())


async def is_gone(url: str) -> bool:
    """Whether the port is closed."""
    try:
        async with httpx.AsyncClient(verify=TLS) as client:
            await client.get(f"{url}/healthz")
    except httpx.TransportError:
        return True
    return False
