"""Following events: woken at once, retried while the database is unavailable, ended with the memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mnemic.config import Settings
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.migrate import migrate
from mnemic.db.tenancy import Tenant
from mnemic.errors import ClosedError, DatabaseUnavailableError, InvalidInputError
from mnemic.events import signal
from mnemic.events.following import StoredCursor
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.event import Event
from tests.conftest import LIMITS, open_database
from tests.opened import core_of, opened
from tests.password_server import PasswordServer
from tests.waiting import wait_for

NEVER_S = 3600.0


@asynccontextmanager
async def following(memory: AsyncMemory, **options: Any) -> AsyncIterator[list[str]]:
    """The subjects of what happens in the block, as they come; it begins with the first position."""
    seen: list[str] = []
    handling = memory.events.on(lambda event: seen.append(event.subject), start="beginning", **options)
    task = asyncio.create_task(handling)
    try:
        yield seen
        assert not task.done(), "it follows until it is cancelled"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def without_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "POLL_S", NEVER_S)


@pytest.mark.usefixtures("without_polling")
async def test_a_commit_of_this_process_wakes(memory: AsyncMemory) -> None:
    async with following(memory) as seen:
        for number in range(5):
            await memory.state.set(f"key {number}", 1)
            await wait_for(lambda: len(seen) == number + 1)  # noqa: B023
    assert seen == [f"key {number}" for number in range(5)]


@pytest.mark.usefixtures("without_polling")
async def test_a_commit_of_another_process_wakes(memory: AsyncMemory) -> None:
    """Another pool stands for the process: its commits arrive only by NOTIFY."""
    async with open_database(core_of(memory).storage.database.access) as elsewhere, following(memory) as seen:
        other = opened(elsewhere, memory.tenant)
        await other.state.set("first", 1)
        await wait_for(lambda: seen == ["first"], what="the first event, perhaps read while beginning")
        await other.state.set("second", 1)
        await wait_for(lambda: seen == ["first", "second"])


async def test_without_a_wakeup_polling_finds_the_event(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch, shared_database: Database
) -> None:
    monkeypatch.setattr(signal, "POLL_S", 0.05)
    monkeypatch.setattr(core_of(memory).event_signal, "wake", lambda: None)
    async with following(memory) as seen:
        await memory.state.set("key", 1)
        await wait_for(lambda: seen == ["key"])


async def test_followers_share_one_connection_and_give_it_back(memory: AsyncMemory) -> None:
    listening = core_of(memory).event_signal
    async with following(memory) as one:
        await memory.state.set("key", 1)
        await wait_for(lambda: one == ["key"])
        task = listening._task
        async with following(memory) as two:
            await wait_for(lambda: two == ["key"])
            assert listening._task is task is not None
        assert listening._task is task
    await wait_for(lambda: listening._task is None)


async def test_a_handler_may_be_async(memory: AsyncMemory) -> None:
    seen: list[Event] = []

    async def handle(event: Event) -> None:
        await asyncio.sleep(0)
        seen.append(event)

    await memory.state.set("key", 1)
    task = asyncio.create_task(memory.events.on(handle, start="beginning", types=["state.created"]))
    await wait_for(lambda: len(seen) == 1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_handler_that_fails_sees_the_event_again(memory: AsyncMemory) -> None:
    await memory.state.set("one", 1)
    await memory.state.set("two", 1)
    seen: list[str] = []

    def fail_at_two(event: Event) -> None:
        seen.append(event.subject)
        if event.subject == "two":
            raise RuntimeError("no twos")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="no twos"):
            await memory.events.on(fail_at_two, consumer="handler", start="beginning")
    assert seen == ["one", "two", "two"]


async def test_a_handler_must_be_a_function(memory: AsyncMemory) -> None:
    with pytest.raises(InvalidInputError, match="handler"):
        await memory.events.on("print")  # type: ignore[arg-type]


@pytest.mark.usefixtures("without_polling")
async def test_closing_the_memory_ends_following(database: Database, tenant_a: Tenant) -> None:
    memory = opened(database, tenant_a)
    events = memory.events.subscribe()
    task = asyncio.ensure_future(anext(events))
    await wait_for(lambda: core_of(memory).event_signal._task is not None)
    await memory.aclose()
    with pytest.raises(ClosedError):
        await task


async def test_a_lost_response_to_an_advance_is_no_conflict(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cursor was advanced, and the connection was lost before the response."""
    write, lost = StoredCursor._write, list[int]()

    async def write_and_lose_the_answer(self: StoredCursor, database: TenantDatabase, position: int) -> None:
        await write(self, database, position)
        if not lost:
            lost.append(position)
            raise DatabaseUnavailableError("the connection was lost")

    monkeypatch.setattr(StoredCursor, "_write", write_and_lose_the_answer)
    for key in ("one", "two", "three"):
        await memory.state.set(key, 1)
    events = memory.events.subscribe("steady", start="beginning")
    assert [(await anext(events)).subject for _ in range(3)] == ["one", "two", "three"]
    assert lost == [1]


async def test_following_resumes_after_a_restart_of_the_server(password_server: PasswordServer) -> None:
    password_server.execute("CREATE DATABASE followed")
    url = password_server.url(dbname="followed")
    settings = Settings(database_url=url, owner="alice", embedder="test")  # type: ignore[arg-type]
    await migrate(url, LIMITS)
    async with AsyncMemory(settings=settings) as memory, following(memory, consumer="steady") as seen:
        await memory.state.set("before", 1)
        await wait_for(lambda: seen == ["before"])
        password_server.stop()
        password_server.run()
        await memory.state.set("after", 1)
        await wait_for(lambda: seen == ["before", "after"])
    password_server.execute("DROP DATABASE followed WITH (FORCE)")
