"""A limit on invalid requests: reading a body only to refuse it costs the server more than its sender.

Bombs, bodies of the wrong shape and documents that cannot be read are all refused in the end, each after some
work. A key, or a tenant by all of its keys, whose requests were refused too often gets 429 for all further
ones, before the database looks its key up and before a body is read, until its bucket fills again. Each
request that succeeds makes up for one that was refused: a service whose users make mistakes is no attack.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.types import Message, Send

from mnemic.errors import MnemicError
from mnemic.govern.keys import AuthenticatedKey
from mnemic.server.limits import ServerLimits
from mnemic.server.problems import status_of
from mnemic.server.rate_limit import RateLimiter

INVALID_STATUSES = frozenset({400, 408, 413, 415, 422})
VERB = "send invalid requests"


class Refusals:
    """Counts invalid requests. Not thread-safe."""

    def __init__(self, limits: ServerLimits) -> None:
        self._of_key = RateLimiter(limits.invalid_rate_per_minute, verb=VERB)
        self._of_tenant = RateLimiter(
            limits.tenant_invalid_rate_per_minute, holder="The tenant of this API key", verb=VERB
        )

    def check(self, found: AuthenticatedKey) -> None:
        """TooManyRequestsError if the key or its tenant has sent too many invalid requests."""
        self._of_key.check(found.key.key_id)
        self._of_tenant.check(found.tenant.id)

    def count(self, found: AuthenticatedKey, status: int) -> None:
        """Count a response, if its status says that the request was invalid or that it succeeded."""
        for rates, holder in ((self._of_key, found.key.key_id), (self._of_tenant, found.tenant.id)):
            if status in INVALID_STATUSES:
                rates.count(holder)
            elif status < HTTPStatus.BAD_REQUEST:
                rates.give_back(holder)

    @contextmanager
    def counted(self, found: AuthenticatedKey, send: Send) -> Iterator[Send]:
        """Count what a block responds through the `send` that it gets, and the error that it raises."""

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.count(found, message["status"])
            await send(message)

        try:
            yield send_counted
        except HTTPException as error:
            self.count(found, error.status_code)
            raise
        except MnemicError as error:
            self.count(found, status_of(error))
            raise
