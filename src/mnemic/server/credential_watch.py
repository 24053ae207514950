"""Watch the keys and sessions that have opened streams: a stream ends within a second of its credential.

A key may have many streams open. One task looks it up every `RECHECK_S` for all of them; if each stream did
that by itself, fifty idle streams would cost 55 lookups a second.

States of a watch: *watching*, from the first stream of the credential on → *ended*, when a lookup fails; or
cancelled, when its last stream has closed.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import UUID

from mnemic.db.task_cancellation import cancel_and_wait
from mnemic.errors import MnemicError
from mnemic.govern.keys import AuthenticatedKey

RECHECK_S = 0.9
"""A stream must end within a second of its key."""

Recheck = Callable[[], Awaitable[None]]
"""Looks a credential up again; raises when it is no longer valid."""

logger = logging.getLogger("mnemic.server")


class CredentialWatches:
    """One watch for each credential with open streams. Not thread-safe."""

    def __init__(self) -> None:
        self._watches: dict[UUID, _Watch] = {}

    @asynccontextmanager
    async def watching(self, found: AuthenticatedKey, recheck: Recheck) -> AsyncIterator[asyncio.Event]:
        """Watch a credential during the block; the event is set when it is no longer valid."""
        watch = self._watches.get(found.credential_id)
        # After a failed lookup, which ends its streams, the next one begins with a new watch.
        if watch is None or watch.ended.is_set():
            watch = self._watches[found.credential_id] = _Watch(recheck)
        watch.streams += 1
        try:
            yield watch.ended
        finally:
            watch.streams -= 1
            if not watch.streams:
                if self._watches.get(found.credential_id) is watch:
                    del self._watches[found.credential_id]
                await cancel_and_wait(watch.task)


class _Watch:
    """Looks one credential up regularly until that fails."""

    def __init__(self, recheck: Recheck) -> None:
        self.streams = 0
        self.ended = asyncio.Event()
        self.task = asyncio.create_task(self._watch(recheck), name="mnemic credential watch")

    async def _watch(self, recheck: Recheck) -> None:
        try:
            while True:
                await asyncio.sleep(RECHECK_S)
                await recheck()
        except MnemicError as error:
            logger.info("event streams closed: %s", error)
        finally:
            # Also after an unexpected error: a stream whose key cannot be looked up must not go on.
            self.ended.set()
