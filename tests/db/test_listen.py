"""`Listener`: notifications, also after a lost connection."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from mnemic.db.access import Access, url_access
from mnemic.db.listen import CHANNEL_MAX_BYTES, Listener
from mnemic.db.migrate import migrate
from mnemic.errors import InvalidInputError
from tests.conftest import LIMITS, AppConnection
from tests.password_server import PasswordServer
from tests.waiting import wait_for


class Ear:
    """Received notifications, and how often the listener became ready."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []
        self.ready = 0

    def hear(self, channel: str, payload: str) -> None:
        self.heard.append((channel, payload))

    def be_ready(self) -> None:
        self.ready += 1


@asynccontextmanager
async def listening(access: Access, channels: Sequence[str] = ("news",)) -> AsyncIterator[Ear]:
    ear = Ear()
    listener = Listener(access, channels, on_notify=ear.hear, on_ready=ear.be_ready)
    task = asyncio.create_task(listener.run())
    try:
        await wait_for(lambda: ear.ready == 1, what="listening to begin")
        yield ear
        assert not task.done(), "the listener listens until it is cancelled"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def notify(connection: AppConnection, payload: str, *, channel: str = "news") -> None:
    connection.execute("SELECT pg_notify(%s, %s)", (channel, payload))


def end_listeners(connection: AppConnection) -> int:
    """Terminate the backends of listeners of this database; returns how many there were."""
    found = connection.execute(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
    )
    (count,) = found.fetchone() or (0,)
    return int(str(count))


async def test_notifications_arrive_in_order(access: Access, admin: AppConnection) -> None:
    async with listening(access) as ear:
        for number in range(3):
            notify(admin, str(number))
        notify(admin, "elsewhere", channel="other news")
        await wait_for(lambda: len(ear.heard) == 3)
        assert ear.heard == [("news", "0"), ("news", "1"), ("news", "2")]


async def test_a_channel_may_have_any_name(access: Access, admin: AppConnection) -> None:
    channels = ["Upper", 'a"quote; SELECT 1', "möwe", "x" * CHANNEL_MAX_BYTES]
    async with listening(access, channels) as ear:
        for channel in channels:
            notify(admin, "hello", channel=channel)
        await wait_for(lambda: len(ear.heard) == len(channels))
        assert ear.heard == [(channel, "hello") for channel in channels]


@pytest.mark.parametrize("channel", ["", "x" * (CHANNEL_MAX_BYTES + 1), "ä" * 32])
def test_a_channel_name_that_postgresql_would_truncate_is_refused(channel: str, access: Access) -> None:
    with pytest.raises(InvalidInputError):
        Listener(access, [channel], on_notify=lambda channel, payload: None)


async def test_a_lost_connection_is_replaced_and_on_ready_is_called_again(
    access: Access, admin: AppConnection
) -> None:
    async with listening(access) as ear:
        for times in (2, 3):
            assert end_listeners(admin) == 1
            await wait_for(lambda: ear.ready == times, what="listening again")  # noqa: B023
            notify(admin, f"after {times - 1}")
            await wait_for(lambda: ("news", f"after {times - 1}") in ear.heard)  # noqa: B023


async def test_notifications_sent_from_on_ready_arrive(access: Access, admin: AppConnection) -> None:
    """`on_ready` is called after LISTEN."""
    heard: list[str] = []
    listener = Listener(
        access,
        ["first", "second"],
        on_notify=lambda channel, payload: heard.append(payload),
        on_ready=lambda: notify(admin, "at once", channel="first"),
    )
    task = asyncio.create_task(listener.run())
    await wait_for(lambda: heard == ["at once"])
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_listening_goes_on_after_a_restart_of_the_server(password_server: PasswordServer) -> None:
    password_server.execute("CREATE DATABASE heard")
    url = password_server.url(dbname="heard")
    await migrate(url, LIMITS)
    async with listening(await url_access(url, LIMITS, key=None)) as ear:
        password_server.stop()
        password_server.run()
        await wait_for(lambda: ear.ready == 2, what="listening again")
        with password_server.connect(dbname="heard") as connection:
            notify(connection, "back")
        await wait_for(lambda: ear.heard == [("news", "back")])
    password_server.execute("DROP DATABASE heard WITH (FORCE)")


async def test_heartbeats_lose_no_notifications(
    access: Access, admin: AppConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With constant heartbeats, notifications arrive in the middle of one."""
    monkeypatch.setattr("mnemic.db.listen.HEARTBEAT_S", 0.001)
    async with listening(access) as ear:
        for number in range(200):
            await asyncio.to_thread(notify, admin, str(number))
        await wait_for(lambda: len(ear.heard) == 200)
        assert [payload for _, payload in ear.heard] == [str(number) for number in range(200)]
        assert ear.ready == 1
