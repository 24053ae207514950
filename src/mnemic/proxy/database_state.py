"""Whether the database answers. While it does not, requests pass unchanged and do not wait for it.

*up* → (a call fails, or takes longer than `CALL_TIMEOUT_S`) *down* → (`RETRY_AFTER_S`) *up*
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mnemic.errors import DatabaseError, EmbeddedServerError

CALL_TIMEOUT_S = 5.0
RETRY_AFTER_S = 2.0

logger = logging.getLogger("mnemic.proxy")


class DatabaseDownError(Exception):
    """The database does not answer."""


class DatabaseState:
    """Guards calls of the database."""

    def __init__(self) -> None:
        self._down_until_s = 0.0

    @asynccontextmanager
    async def calling(self) -> AsyncIterator[None]:
        """A block that calls the database; DatabaseDownError if it is down, fails or takes too long."""
        if time.monotonic() < self._down_until_s:
            raise DatabaseDownError("it failed a moment ago")
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                yield
        except (DatabaseError, EmbeddedServerError, OSError) as error:
            # TimeoutError is an OSError.
            self._down_until_s = time.monotonic() + RETRY_AFTER_S
            logger.warning("the database does not answer: %s", type(error).__name__)
            raise DatabaseDownError(type(error).__name__) from error
