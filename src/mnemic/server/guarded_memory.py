"""A memory that obeys an API key: every call is authorised before it runs, and changes are audited.

The dashboard and MCP make calls of `AsyncMemory` in the process of the server. Their memory has a
`GuardedBackend`, which decides for each call as a route of `/v1` does: by `authorise`, with the owners that
the scope and the arguments name. Calls that a server does not offer are refused, and so is direct access to
the database. The body of an authorised call runs unguarded, as it does behind a route.

A call that changes something is audited if its role is at least `audits_from`: the intent is committed before
the call, the outcome after it. The record names the call by its route template and has no owner, so that it
holds no names and survives the erasure of an owner. Calls that audit themselves are left to do so.
"""

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from mnemic.db.tenancy import Tenant
from mnemic.errors import ForbiddenError
from mnemic.govern.audit import audited, without_owner
from mnemic.govern.keys import AuthenticatedKey
from mnemic.runtime.core import Core
from mnemic.sdk.backend import Backend
from mnemic.sdk.http.surface import Route
from mnemic.sdk.memory import AsyncMemory, memory_behind
from mnemic.sdk.routing import CallGroup
from mnemic.server.auditing import is_audited_by_server
from mnemic.server.authorisation import authorise, route_of
from mnemic.types.key import Role, allows

Group = TypeVar("Group", bound=CallGroup)
Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

CountRecall = Callable[[AuthenticatedKey], object]
"""Counts a recall against the rate limits; TooManyRequestsError if there were too many."""


@dataclass(frozen=True)
class Guard:
    """Who calls, and what is noted about each call."""

    found: AuthenticatedKey
    count_recall: CountRecall
    """Is called before each recall."""
    action: str
    """The action of audit records."""
    audits_from: Role
    """The lowest role whose calls are audited."""


def guarded(memory: AsyncMemory, guard: Guard) -> AsyncMemory:
    """A view of a memory, in the scope of the key's owner, that makes only the calls that the key allows."""
    scoped = memory.scope(owner=guard.found.key.owner)
    return memory_behind(scoped, lambda backend: GuardedBackend(backend, guard))


class GuardedBackend:
    """Authorises calls, audits them, and passes them on to another backend, which is open."""

    def __init__(self, inner: Backend, guard: Guard) -> None:
        self._inner = inner
        self._guard = guard

    @property
    def core(self) -> Core:
        """Always an error: calls are authorised one by one, and the core has no such check."""
        raise ForbiddenError("This memory makes calls only; it gives no access to the database itself.")

    @property
    def tenant(self) -> Tenant:
        """The tenant of the key."""
        return self._inner.tenant

    async def open(self) -> None:
        """Nothing: the inner backend is open."""

    async def aclose(self) -> None:
        """Nothing: the inner backend is closed where it was opened."""

    def call(
        self,
        name: str,
        body: Callable[Concatenate[Group, Parameters], Returned],
        group: Group,
        /,
        *arguments: Parameters.args,
        **named: Parameters.kwargs,
    ) -> Returned:
        """Run a call if the key allows it; ForbiddenError otherwise, before anything is run."""
        route = self._authorised(name, body, group, *arguments, **named)
        if name == "recall":
            self._guard.count_recall(self._guard.found)
        behind = copy(group)
        # What the body calls in turn belongs to the same call: it is not authorised again.
        behind._backend = self._inner
        if not self._needs_audit(route):
            return self._inner.call(name, body, behind, *arguments, **named)
        run: Callable[..., Any] = self._audited
        return cast("Returned", run(route, body, behind, *arguments, **named))

    def _authorised(
        self, name: str, body: Callable[..., Any], group: CallGroup, /, *arguments: Any, **named: Any
    ) -> Route:
        route = route_of(name)
        key, scope_owner = self._guard.found.key, group._scope.owner
        if key.owner is not None and scope_owner is None:
            raise ForbiddenError("This API key is bound to an owner; this memory has none.")
        given = _signature(body).bind_partial(group, *arguments, **named).arguments
        authorise(key, route, [scope_owner, given.get("owner")])
        if name == "events.subscribe" and given.get("consumer") is not None:
            # Following under a consumer's name moves its position, which a route of its own does on a server.
            authorise(key, route_of("events.move_consumer"), [scope_owner])
        return route

    def _needs_audit(self, route: Route) -> bool:
        return is_audited_by_server(route) and allows(route.role, self._guard.audits_from)

    async def _audited(
        self, route: Route, body: Callable[..., Any], group: CallGroup, /, *arguments: Any, **named: Any
    ) -> Any:
        act = audited(
            self._inner.core.storage.tenant_database,
            without_owner(group._scope),
            action=self._guard.action,
            target=f"{route.method} {route.path}",
            # The message of an error may quote the arguments of the call.
            keeps_message=False,
        )
        async with act:
            return await self._inner.call(route.call, body, group, *arguments, **named)


@cache
def _signature(body: Callable[..., Any]) -> inspect.Signature:
    """The signature of a call; there is one for each of them."""
    return inspect.signature(body)
