"""Routes and the dashboard decide alike, for every call, role and bound owner, by `authorise`."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import product
from typing import Any
from uuid import uuid4

import pytest
from starlette.datastructures import Headers
from starlette.requests import Request

from mnemic.db.tenancy import Tenant
from mnemic.errors import ForbiddenError, TooManyRequestsError
from mnemic.govern.keys import AuthenticatedKey
from mnemic.sdk.http.connection import OWNER_HEADER
from mnemic.sdk.http.surface import LOCAL_ONLY, SURFACE, Route
from mnemic.sdk.http.wire import find_call
from mnemic.sdk.memory import AsyncMemory, memory_behind
from mnemic.server.auditing import SELF_AUDITED_CALLS, SELF_AUDITED_WRITES
from mnemic.server.authorisation import may
from mnemic.server.guarded_memory import Guard, GuardedBackend
from mnemic.server.routes import scoped_memory
from mnemic.types.key import ROLES, ApiKey, Role
from tests.server.running import RunningServer

RAN = "the body ran"
BOUND_OWNERS = (None, "alice")
NAMED_OWNERS = (None, "alice", "bob")


@dataclass(frozen=True)
class Visitor:
    """A key, and the owner that its request names."""

    role: Role
    bound: str | None
    named: str | None
    """In the scope."""
    argument: str | None
    """As an argument of the call."""

    @property
    def key(self) -> ApiKey:
        now = datetime.now(UTC)
        return ApiKey(uuid4(), None, self.role, self.bound, "mn_abcdef", now, None, None, None)


VISITORS = [
    Visitor(role, bound, named, argument)
    for role, bound, named, argument in product(ROLES, BOUND_OWNERS, NAMED_OWNERS, NAMED_OWNERS)
    # The database has no bound admin keys; one argument and one scope suffice for the others.
    if (role, bound) != ("admin", "alice") and (named is None or argument is None)
]


def is_allowed(route: Route, visitor: Visitor) -> bool:
    """What the documentation promises, in other words than the code."""
    included = {"read": ["read"], "write": ["read", "write"], "admin": ["read", "write", "admin"]}
    if route.role not in included[visitor.role]:
        return False
    if visitor.bound is None:
        return True
    return route.reach == "owner" and {visitor.named, visitor.argument} <= {None, visitor.bound}


class NothingRuns:
    """A backend that only says that a call was passed on."""

    def __init__(self) -> None:
        self.scopes: list[str | None] = []

    core = property(lambda self: pytest.fail("nothing may use the database"))
    tenant = property(lambda self: Tenant(uuid4(), "nobody"))

    async def open(self) -> None: ...
    async def aclose(self) -> None: ...

    def call(self, name: str, body: Any, group: Any, /, *arguments: Any, **named: Any) -> Any:
        self.scopes.append(group._scope.owner)

        async def ran() -> str:
            return RAN

        return ran() if asyncio.iscoroutinefunction(body) else RAN


def guarded_decision(route: Route, visitor: Visitor, runner: asyncio.Runner, unused: AsyncMemory) -> bool:
    """Whether the memory of the dashboard passes the call on, for the right owner."""
    inner = NothingRuns()
    # From the role admin on, so that nothing is audited: there is no database.
    guard = Guard(AuthenticatedKey(inner.tenant, visitor.key), lambda _: None, "test", "admin")
    memory = unused.scope(owner=visitor.bound)
    if visitor.named is not None:
        memory = memory.scope(owner=visitor.named)
    memory = memory_behind(memory, lambda _: UnauditedBackend(inner, guard))
    named = {"owner": visitor.argument} if visitor.argument is not None else {}
    try:
        made = find_call(route, AsyncMemory).of(memory, **dict.fromkeys(route.group_parameters, "s"))(**named)
        result = runner.run(made) if asyncio.iscoroutine(made) else made
    except ForbiddenError:
        assert inner.scopes == []
        return False
    assert result == RAN
    assert inner.scopes == [visitor.named or visitor.bound]
    return True


class UnauditedBackend(GuardedBackend):
    """Decides as ever; without a database nothing can be audited."""

    def _needs_audit(self, route: Route) -> bool:
        return False


def test_the_memory_of_the_dashboard_decides_as_documented(subtests: pytest.Subtests) -> None:
    unused = AsyncMemory(settings=None, data_dir="unused")
    with asyncio.Runner() as runner:
        for route in SURFACE:
            visitors = [each for each in VISITORS if each.argument is None or takes_owner(route)]
            with subtests.test(route.call):
                for visitor in visitors:
                    decision = guarded_decision(route, visitor, runner, unused)
                    assert decision == is_allowed(route, visitor), visitor


@cache
def takes_owner(route: Route) -> bool:
    return any(parameter.name == "owner" for parameter in find_call(route, AsyncMemory).parameters)


def test_pages_hide_what_the_key_may_not_do() -> None:
    for route, visitor in product(SURFACE, VISITORS):
        if visitor.named is visitor.argument is None:
            assert may(visitor.key, route.call) == is_allowed(route, visitor)
    for call in LOCAL_ONLY:
        assert not may(Visitor("admin", None, None, None).key, call)


@pytest.fixture
def decide_over_http(server: RunningServer, tenant: str) -> Callable[[Route, Visitor], bool]:
    """Decides as a route does, by its own two steps, without running the call."""
    memory = server.memory(tenant)
    authenticator = server.server_app.authenticator

    async def decided(route: Route, visitor: Visitor) -> bool:
        found = AuthenticatedKey(memory.tenant, visitor.key)
        headers = {OWNER_HEADER: visitor.named} if visitor.named is not None else {}
        scope: dict[str, Any] = {
            "type": "http",
            "method": route.method,
            "path": route.path,
            "headers": [],
            "state": {"found_key": found, "request_id": "test"},
        }
        try:
            caller = await authenticator.require(route)(Request(scope))
            scoped = scoped_memory(caller, Headers(headers), route, {"owner": visitor.argument})
        except ForbiddenError:
            return False
        assert scoped.owner == (visitor.named or visitor.bound)
        return True

    return lambda route, visitor: server.run(decided(route, visitor))


def test_routes_decide_as_documented(
    decide_over_http: Callable[[Route, Visitor], bool], subtests: pytest.Subtests
) -> None:
    for route in SURFACE:
        with subtests.test(route.call):
            for visitor in VISITORS:
                assert decide_over_http(route, visitor) == is_allowed(route, visitor), visitor


def admin_memory(inner: NothingRuns, **options: Any) -> AsyncMemory:
    key = Visitor("admin", None, None, None).key
    count_recall = options.pop("count_recall", lambda _: None)
    guard = Guard(AuthenticatedKey(inner.tenant, key), count_recall, "test", "admin")
    memory = AsyncMemory(settings=None, data_dir="unused")
    return memory_behind(memory, lambda _: UnauditedBackend(inner, guard))


def test_calls_that_no_route_offers_are_refused_to_everybody() -> None:
    inner = NothingRuns()
    memory = admin_memory(inner)
    for call in LOCAL_ONLY:
        with pytest.raises(ForbiddenError, match="not available here"):
            asyncio.run(attempted(memory, call))
    assert inner.scopes == []


async def attempted(memory: AsyncMemory, call: str) -> None:
    group, _, name = call.partition(".")
    made = getattr(getattr(memory, group), name)("x")
    if asyncio.iscoroutine(made):
        await made


def test_the_memory_gives_no_access_to_the_database_itself() -> None:
    memory = admin_memory(NothingRuns())
    with pytest.raises(ForbiddenError):
        _ = memory._core
    with pytest.raises(ForbiddenError):
        _ = memory.memories._caller.database


def test_a_bound_key_cannot_use_a_memory_without_an_owner() -> None:
    inner = NothingRuns()
    guard = Guard(
        AuthenticatedKey(inner.tenant, Visitor("write", "alice", None, None).key),
        lambda _: None,
        "test",
        "admin",
    )
    memory = memory_behind(
        AsyncMemory(settings=None, data_dir="unused"), lambda _: UnauditedBackend(inner, guard)
    )
    with pytest.raises(ForbiddenError):
        asyncio.run(memory.events.list())


def test_following_under_a_consumer_name_needs_the_role_write() -> None:
    for role in ROLES:
        assert subscribed(role, None) == RAN
        if role != "read":
            assert subscribed(role, "reader") == RAN
    with pytest.raises(ForbiddenError):
        subscribed("read", "reader")


def subscribed(role: Role, consumer: str | None) -> object:
    inner = NothingRuns()
    key = Visitor(role, None, None, None).key
    guard = Guard(AuthenticatedKey(inner.tenant, key), lambda _: None, "test", "admin")
    memory = AsyncMemory(settings=None, data_dir="unused")
    return memory_behind(memory, lambda _: GuardedBackend(inner, guard)).events.subscribe(consumer)


def test_a_recall_counts_against_the_rate_limit() -> None:
    def refuse(found: AuthenticatedKey) -> None:
        raise TooManyRequestsError("too many", retry_after_s=1)

    memory = admin_memory(NothingRuns(), count_recall=refuse)
    with pytest.raises(TooManyRequestsError):
        asyncio.run(memory.recall("x", owner="alice"))


def test_calls_that_audit_themselves_exist() -> None:
    roles = {route.call: route.role for route in SURFACE}
    assert {roles[call] for call in SELF_AUDITED_CALLS} == {"admin"}
    assert {roles[call] for call in SELF_AUDITED_WRITES} == {"write"}
