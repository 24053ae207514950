"""Keys with open streams: looked up once for all of them, and a stream ends with its key."""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from itertools import count
from uuid import uuid4

import pytest

from mnemic.db.tenancy import Tenant
from mnemic.errors import NotAuthenticatedError
from mnemic.govern.keys import AuthenticatedKey
from mnemic.server import credential_watch
from mnemic.server.credential_watch import CredentialWatches
from mnemic.types.key import ApiKey

STREAMS = 50


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credential_watch, "RECHECK_S", 0)


class Lookups:
    """Counts lookups; each waits until it is told how it ends."""

    def __init__(self) -> None:
        self.numbers = count(1)
        self.begun: asyncio.Queue[int] = asyncio.Queue()
        self.ends: asyncio.Queue[Exception | None] = asyncio.Queue()

    async def recheck(self) -> None:
        self.begun.put_nowait(next(self.numbers))
        error = await self.ends.get()
        if error is not None:
            raise error


def a_key() -> AuthenticatedKey:
    key = ApiKey(uuid4(), None, "read", None, "mn_aaaaaa", datetime.now(UTC), None, None, None)
    return AuthenticatedKey(Tenant(uuid4(), "acme"), key)


async def test_the_streams_of_a_key_share_each_lookup_and_its_end() -> None:
    watches, lookups, found = CredentialWatches(), Lookups(), a_key()
    async with AsyncExitStack() as streams:
        ends = [
            await streams.enter_async_context(watches.watching(found, lookups.recheck))
            for _ in range(STREAMS)
        ]
        for number in (1, 2):
            assert await lookups.begun.get() == number
            assert lookups.begun.empty(), "the other streams wait for the same lookup"
            lookups.ends.put_nowait(None)
        assert not any(end.is_set() for end in ends)
        lookups.ends.put_nowait(NotAuthenticatedError("revoked"))
        await asyncio.gather(*(end.wait() for end in ends))


async def test_each_key_is_looked_up_for_itself() -> None:
    watches, revoked, valid = CredentialWatches(), Lookups(), Lookups()
    async with (
        watches.watching(a_key(), revoked.recheck) as revoked_end,
        watches.watching(a_key(), valid.recheck) as valid_end,
    ):
        revoked.ends.put_nowait(NotAuthenticatedError("revoked"))
        await revoked_end.wait()
        await valid.begun.get()
        assert not valid_end.is_set()


async def test_a_stream_that_opens_after_a_failed_lookup_is_watched_anew() -> None:
    watches, lookups, found = CredentialWatches(), Lookups(), a_key()
    async with watches.watching(found, lookups.recheck) as first:
        lookups.ends.put_nowait(NotAuthenticatedError("the database was unavailable"))
        await first.wait()
        async with watches.watching(found, lookups.recheck) as second:
            assert not second.is_set()
            lookups.ends.put_nowait(NotAuthenticatedError("revoked"))
            await second.wait()


async def test_nothing_is_looked_up_when_the_last_stream_has_closed() -> None:
    watches, lookups, found = CredentialWatches(), Lookups(), a_key()
    async with watches.watching(found, lookups.recheck):
        await lookups.begun.get()
    lookups.ends.put_nowait(None)
    assert [task for task in asyncio.all_tasks() if task.get_name() == "mnemic credential watch"] == []
