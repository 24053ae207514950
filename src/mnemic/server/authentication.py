"""Who may come in: from the `Authorization` header to a memory that sees what the key may see.

Everything under `/v1` needs a key, also what is not there, so that a stranger learns nothing. The key is
looked up in the database in each request: revoking it takes effect with the next one. That happens before
the body is read. Then the route says which role it needs (`admit`), and gets a memory of the key's tenant,
in the scope of the key's owner if it has one.

A recall by a key that was let in before does not wait for the look-up: both begin at once, and the answer
waits for it. What a key opens never changes, it only ends; one that has ended by now gets its 401, and the
recall is broken off. This is done for recalls alone: only what reads may be begun before it is allowed. If
the recall is the quicker one, its hits count as recalled, and a log of reads has it, though nobody got them.

A key is taken from one place only: `Authorization: Bearer mn_…`.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemic.db.database import TenantDatabase
from mnemic.errors import ForbiddenError, NotAuthenticatedError
from mnemic.govern import keys
from mnemic.govern.keys import FoundKey
from mnemic.sdk.memory import AsyncMemory
from mnemic.sdk.tenants import Tenants
from mnemic.server.auditing import begin_act, needs_audit
from mnemic.server.key_usage import KeyUsage
from mnemic.server.rate_limit import RateLimiter
from mnemic.server.request_context import raw_path
from mnemic.types.key import ApiKey, Role, allows

__all__ = ["AuthenticatedCaller", "AuthenticationMiddleware", "Authenticator", "RequireRole", "Role"]

GUARDED = "/v1"
RECALL = "/v1/recall"
MCP = "/mcp"
CACHED_KEYS_MAX = 10_000
"""Keys that are remembered; the one that called least lately makes room, and has to wait once more."""


@dataclass(frozen=True)
class AuthenticatedCaller:
    """A caller who may do what he came for.

    `memory` works in the key's tenant and, if the key is bound to an owner, in that owner's scope;
    `owner` is that owner.
    """

    memory: AsyncMemory
    key: ApiKey | None
    owner: str | None


RequireRole = Callable[[Role], Callable[[Request], Awaitable[AuthenticatedCaller]]]
"""Gives, for the role that a route needs, the dependency that lets callers with that role in."""


class Authenticator:
    """Knows the keys of all tenants."""

    def __init__(self, tenants: Tenants, *, recall_rate_per_minute: int) -> None:
        self._tenants = tenants
        self.uses = KeyUsage()
        self.recall_limiter = RateLimiter(recall_rate_per_minute)
        self._cached: OrderedDict[bytes, FoundKey] = OrderedDict()

    def require(self, role: Role) -> Callable[[Request], Awaitable[AuthenticatedCaller]]:
        """The dependency of a route that needs this role."""

        async def require(request: Request) -> AuthenticatedCaller:
            found = await self.key_of(request.scope)
            if not allows(found.key.role, role):
                raise ForbiddenError(
                    f"This call needs a key with the role {role}; this one has {found.key.role}."
                )
            request_id = request.scope["state"]["request_id"]
            if role == "admin" and needs_audit(request.scope):
                await begin_act(request.scope, await self.database_of(request.scope), found.key)
            return AuthenticatedCaller(await self.memory_of(found, request_id), found.key, found.key.owner)

        return require

    async def key_of(self, scope: Scope) -> FoundKey:
        """The key of a request, looked up once; NotAuthenticatedError if it has none that holds."""
        state = scope.setdefault("state", {})
        if "found_key" not in state:
            state["found_key"] = await self._find(bearer_token(Headers(scope=scope)))
        found: FoundKey = state["found_key"]
        return found

    def cached_key_of(self, scope: Scope) -> FoundKey | None:
        """The key of a request as it was when it was last looked up; None if it was not, or did not hold."""
        return self._cached.get(_digest(bearer_token(Headers(scope=scope))))

    async def memory_of(self, found: FoundKey, request_id: str | None = None) -> AsyncMemory:
        """The memory that a key opens; what it audits names the key, and the request if that is known."""
        memory = await self._tenants.memory(found.tenant, key_id=found.key.key_id, request_id=request_id)
        return memory.scope(owner=found.key.owner)

    async def resolve(self, token: str) -> tuple[AsyncMemory, Role]:
        """For the MCP server: what a bearer's token opens, and as what."""
        found = await self._find(token)
        return await self.memory_of(found), found.key.role

    async def database_of(self, scope: Scope) -> TenantDatabase:
        """The database as the tenant of a request's key sees it."""
        return TenantDatabase(self._tenants.database, (await self.key_of(scope)).tenant)

    async def recheck(self, scope: Scope) -> None:
        """NotAuthenticatedError if the key of a request that was let in no longer holds."""
        await self._find(bearer_token(Headers(scope=scope)))

    async def _find(self, token: str) -> FoundKey:
        try:
            found = await keys.find(self._tenants.database, token)
        except NotAuthenticatedError:
            self._cached.pop(_digest(token), None)
            raise
        self.uses.note(found)
        self._cached[_digest(token)] = found
        self._cached.move_to_end(_digest(token))
        if len(self._cached) > CACHED_KEYS_MAX:
            self._cached.popitem(last=False)
        return found


class AuthenticationMiddleware:
    """Turns away who has no key, and who recalls too often, before a body is read."""

    def __init__(self, app: ASGIApp, *, authenticator: Authenticator) -> None:
        self._app = app
        self._authenticator = authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or raise the error that says why not."""
        if scope["type"] != "http" or not _is_under(scope["path"], GUARDED, MCP):
            await self._app(scope, receive, send)
            return
        known = self._authenticator.cached_key_of(scope) if _is_recall(scope) else None
        if known is not None:
            await self._authenticate_meanwhile(known, scope, receive, send)
            return
        found = await self._authenticator.key_of(scope)
        if _counts_as_recall(scope):
            send = _with_headers(send, self._authenticator.recall_limiter.take(found.key.key_id))
        await self._app(scope, receive, send)

    async def _authenticate_meanwhile(
        self, known: FoundKey, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Begin a request by what is known of its key, look that up again meanwhile, then answer."""
        scope["state"]["found_key"] = known
        try:
            async with asyncio.TaskGroup() as group:
                checking = group.create_task(self._authenticator.recheck(scope))

                async def send_checked(message: Message) -> None:
                    await checking
                    await send(message)

                try:
                    rate_headers = self._authenticator.recall_limiter.take(known.key.key_id)
                    await self._app(scope, receive, _with_headers(send_checked, rate_headers))
                except Exception:
                    # An error is an answer, too: a key that has ended learns nothing else.
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
    """The token in the only `Authorization` header; NotAuthenticatedError if there is none such."""
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
    return bool(scope["method"] == "POST" and raw_path(scope) == RECALL)


def _counts_as_recall(scope: Scope) -> bool:
    """MCP requests count, too: what they ask for is known only from their bodies."""
    return _is_recall(scope) or (scope["method"] == "POST" and _is_under(raw_path(scope), MCP))


def _is_under(path: str, *roots: str) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in roots)
