"""Authentication by API key: from the `Authorization` header to a memory in the scope of the key.

Every path under `/v1` needs a key, including paths that do not exist, so that an unauthenticated client
learns nothing. The middleware looks the key up in the database in each request, before it reads the body: a
revoked key is refused from the next request on. The route then authorises the key (`require`) and gets a
memory of the key's tenant, scoped to the key's owner if it has one.

A recall with a cached key does not wait for the lookup: the lookup and the recall run concurrently, and the
response waits for both. The tenant, role and owner of a key never change; a key can only end. If it has
ended, the response is 401 and the recall is cancelled. Only recalls are handled this way, because they only
read. If the recall finishes before the refusal, it is counted and logged although the client gets no hits.

The server accepts a key from one place only: `Authorization: Bearer mn_…`. It takes no cookie there; sessions
of the dashboard are looked up by `find_session`.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemic.db.database import Database, TenantDatabase
from mnemic.errors import NotAuthenticatedError
from mnemic.govern import keys, sessions
from mnemic.govern.keys import AuthenticatedKey
from mnemic.govern.sessions import AuthenticatedSession
from mnemic.sdk.http.surface import Route
from mnemic.sdk.memory import AsyncMemory
from mnemic.sdk.tenants import Tenants
from mnemic.server.auditing import ACTION, begin_act, is_audited_by_server
from mnemic.server.authorisation import authorise
from mnemic.server.guarded_memory import Guard, guarded
from mnemic.server.key_usage import KeyUsage
from mnemic.server.limits import ServerLimits
from mnemic.server.paths import Target, is_under, target_of
from mnemic.server.quota import Quota
from mnemic.server.rate_limit import RateLimiter
from mnemic.server.refusals import Refusals
from mnemic.types.key import ApiKey, Role

MCP = "/mcp"
GUARDED = ("/v1", MCP)
"""Every path below these needs a key."""
RECALL: Target = ("POST", "/v1/recall")
BUSY_RETRY_AFTER_S = 1.0
UNKNOWN_KEY_LOOKUPS_MAX = 4
"""Lookups of keys that are not cached, at the same time."""
CACHED_KEYS_MAX = 10_000
"""Cached keys, and sessions; the least recently used one is evicted and waits for its next lookup."""

Found = TypeVar("Found", bound=AuthenticatedKey)
Result = TypeVar("Result")


@dataclass(frozen=True)
class AuthenticatedCaller:
    """A caller whose key may make the call of the route.

    `memory` belongs to the key's tenant and, if the key is bound to an owner, is scoped to that owner.
    """

    memory: AsyncMemory
    key: ApiKey

    @property
    def owner(self) -> str | None:
        """The owner that the key is bound to."""
        return self.key.owner


Require = Callable[[Route], Callable[[Request], Awaitable[AuthenticatedCaller]]]
"""Returns the dependency of a route."""


class Authenticator:
    """Looks up the keys of all tenants and caches those that are valid."""

    def __init__(self, tenants: Tenants, *, limits: ServerLimits) -> None:
        self._tenants = tenants
        self.uses = KeyUsage()
        self._key_recalls = RateLimiter(limits.recall_rate_per_minute)
        self._tenant_recalls = RateLimiter(
            limits.tenant_recall_rate_per_minute, holder="The tenant of this API key"
        )
        self.requests = Quota("requests in progress", limits.requests, retry_after_s=BUSY_RETRY_AFTER_S)
        self.refusals = Refusals(limits)
        self.form_bytes = Quota(
            "bytes of forms in memory", limits.body_bytes, retry_after_s=BUSY_RETRY_AFTER_S
        )
        self._cached: OrderedDict[bytes, AuthenticatedKey] = OrderedDict()
        self._sessions: OrderedDict[bytes, AuthenticatedSession] = OrderedDict()
        self._lookups = asyncio.Semaphore(UNKNOWN_KEY_LOOKUPS_MAX)

    @property
    def database(self) -> Database:
        """The database of all tenants."""
        return self._tenants.database

    def count_recall(self, found: AuthenticatedKey) -> dict[str, str]:
        """Count a recall of a key and its tenant; returns the headers that say how many are left.

        TooManyRequestsError if the key or the tenant has recalled too often.
        """
        of_key = self._key_recalls.take(found.key.key_id)
        return self._tenant_recalls.take(found.tenant.id) | of_key

    def require(self, route: Route) -> Callable[[Request], Awaitable[AuthenticatedCaller]]:
        """Return the dependency that authenticates a request and authorises its key for this route.

        The owners that the request names are known only when its arguments are read: the route authorises
        them then.
        """

        async def require(request: Request) -> AuthenticatedCaller:
            found = await self.key_of(request.scope)
            authorise(found.key, route)
            request_id = request.scope["state"]["request_id"]
            if route.role == "admin" and is_audited_by_server(route):
                await begin_act(request.scope, await self.database_of(request.scope), found.key)
            return AuthenticatedCaller(await self.memory_of(found, request_id), found.key)

        return require

    async def key_of(self, scope: Scope) -> AuthenticatedKey:
        """The key of a request, looked up once; NotAuthenticatedError if it is missing or not valid."""
        state = scope.setdefault("state", {})
        if "found_key" not in state:
            state["found_key"] = await self.find(bearer_token(Headers(scope=scope)))
        found: AuthenticatedKey = state["found_key"]
        return found

    def cached_key_of(self, scope: Scope) -> AuthenticatedKey | None:
        """The cached key of a request; None if it was not looked up before or was not valid."""
        return self.cached(bearer_token(Headers(scope=scope)))

    def cached(self, token: str) -> AuthenticatedKey | None:
        """A key that was valid when it was last looked up; None if it was not looked up before."""
        return self._cached.get(_digest(token))

    async def memory_of(self, found: AuthenticatedKey, request_id: str | None = None) -> AsyncMemory:
        """The memory in the scope of a key; its audit records name the key, and the request if given."""
        memory = await self._tenants.memory(found.tenant, key_id=found.key.key_id, request_id=request_id)
        return memory.scope(owner=found.key.owner)

    async def guarded_memory_of(
        self, found: AuthenticatedKey, request_id: str | None = None, *, action: str, audits_from: Role
    ) -> AsyncMemory:
        """The same memory, which authorises each call by itself and audits it if it changes something.

        `action` is the action of the audit records, `audits_from` the lowest role whose calls are audited.
        """
        memory = await self.memory_of(found, request_id)
        return guarded(memory, Guard(found, self.count_recall, action, audits_from))

    async def resolve(self, token: str) -> tuple[AsyncMemory, Role]:
        """For the MCP server: the memory and the role of a bearer token."""
        found = await self.find(token)
        # The middleware has counted the request as a recall.
        guard = Guard(found, lambda _: None, ACTION, "admin")
        return guarded(await self.memory_of(found), guard), found.key.role

    async def bounded(self, lookup: Awaitable[Result]) -> Result:
        """Do a lookup of something unknown: few at once, so that a flood of them leaves connections free."""
        async with self._lookups:
            return await lookup

    async def find_session(self, secret: str) -> AuthenticatedSession:
        """The open session with this secret; NotAuthenticatedError if there is none."""
        return await self._looked_up(secret, self._sessions, sessions.find)

    async def database_of(self, scope: Scope) -> TenantDatabase:
        """The database of the tenant of a request's key."""
        return TenantDatabase(self.database, (await self.key_of(scope)).tenant)

    async def recheck(self, scope: Scope) -> None:
        """Look the key of a request up again; NotAuthenticatedError if it is no longer valid."""
        await self.find(bearer_token(Headers(scope=scope)))

    async def find(self, token: str) -> AuthenticatedKey:
        """The key with this text; NotAuthenticatedError if it is not valid."""
        return await self._looked_up(token, self._cached, keys.find)

    async def _looked_up(
        self,
        secret: str,
        cached: OrderedDict[bytes, Found],
        find: Callable[[Database, str], Awaitable[Found]],
    ) -> Found:
        """Look a key or session up in the database, and cache it if it is valid."""
        digest = _digest(secret)
        try:
            # Few unknown ones at once, so that a flood of wrong keys leaves connections free.
            async with nullcontext() if digest in cached else self._lookups:
                found = await find(self.database, secret)
        except NotAuthenticatedError:
            cached.pop(digest, None)
            raise
        self.uses.note(found)
        cached[digest] = found
        cached.move_to_end(digest)
        if len(cached) > CACHED_KEYS_MAX:
            cached.popitem(last=False)
        return found


class AuthenticationMiddleware:
    """Refuses requests without a valid key, and those above the limits of its key, before the body is read.

    `endless` requests count as streams, not as requests in progress.
    """

    def __init__(self, app: ASGIApp, *, authenticator: Authenticator, endless: frozenset[Target]) -> None:
        self._app = app
        self._authenticator = authenticator
        self._endless = endless

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an authenticated request on; otherwise raise the error."""
        if scope["type"] != "http" or not is_under(scope["path"], *GUARDED):
            await self._app(scope, receive, send)
            return
        known = self._authenticator.cached_key_of(scope)
        if known is not None:
            # Before the database is asked: what is refused often must cost little.
            self._authenticator.refusals.check(known)
        found = known if known and _is_recall(scope) else await self._authenticator.key_of(scope)
        is_endless = target_of(scope) in self._endless
        with (
            self._authenticator.refusals.counted(found, send) as send_counted,
            nullcontext() if is_endless else self._authenticator.requests.held(found),
        ):
            await self._pass_on(found, scope, receive, send_counted)

    async def _pass_on(self, found: AuthenticatedKey, scope: Scope, receive: Receive, send: Send) -> None:
        """Run a request. That of a recall with a cached key has not been looked up yet."""
        if "found_key" not in scope["state"]:
            await self._authenticate_meanwhile(found, scope, receive, send)
            return
        if _counts_as_recall(scope):
            send = _with_headers(send, self._authenticator.count_recall(found))
        await self._app(scope, receive, send)

    async def _authenticate_meanwhile(
        self, known: AuthenticatedKey, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Run a request with its cached key while the key is looked up again; respond when both are done."""
        scope["state"]["found_key"] = known
        try:
            async with asyncio.TaskGroup() as group:
                checking = group.create_task(self._authenticator.recheck(scope))

                async def send_checked(message: Message) -> None:
                    await checking
                    await send(message)

                try:
                    rate_headers = self._authenticator.count_recall(known)
                    await self._app(scope, receive, _with_headers(send_checked, rate_headers))
                except Exception:
                    # An error is a response, too: a key that is no longer valid gets 401 and nothing else.
                    await checking
                    raise
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None


def _with_headers(send: Send, headers: Mapping[str, str]) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(headers)
        await send(message)

    return send_with_headers


def bearer_token(headers: Headers) -> str:
    """The token in the only `Authorization` header; NotAuthenticatedError if there is none."""
    given = headers.getlist("authorization")
    if not given:
        raise NotAuthenticatedError("This needs an API key, in the header: Authorization: Bearer mn_…")
    scheme, _, token = given[0].partition(" ")
    if len(given) > 1 or scheme.lower() != "bearer" or not token.strip():
        raise NotAuthenticatedError("The header must be given once, as: Authorization: Bearer mn_…")
    return token.strip()


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()


def _is_recall(scope: Scope) -> bool:
    return target_of(scope) == RECALL


def _counts_as_recall(scope: Scope) -> bool:
    """Every MCP request counts as a recall: which tool it calls is known only from its body."""
    return _is_recall(scope) or (scope["method"] == "POST" and is_under(scope["path"], MCP))
