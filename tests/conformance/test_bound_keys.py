"""An API key that is bound to one owner reaches no data of another: by name, scope, id or any route."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import httpx
import pytest

from mnemic import AsyncMemory
from mnemic.errors import ForbiddenError, MnemicError, NotFoundError
from mnemic.sdk.http.surface import SURFACE
from mnemic.sdk.http.wire import Call, find_call
from mnemic.server.descriptions import example
from tests.server.running import RunningServer

SECRET = "The treasure lies under the oak."
CALLS = [find_call(route, AsyncMemory) for route in SURFACE if route.call != "events.subscribe"]
REACHABLE = [call for call in CALLS if call.route.role != "admin"]


@pytest.fixture
def tenant() -> str:
    return f"tenant {uuid4()}"


@pytest.fixture
async def alice(folder: Path, tenant: str) -> AsyncIterator[AsyncMemory]:
    """Alice's memory on the database."""
    async with AsyncMemory(data_dir=folder, tenant=tenant, owner="alice", embedder="test") as memory:
        yield memory


@pytest.fixture
async def bob(served: RunningServer, tenant: str) -> AsyncIterator[AsyncMemory]:
    """Bob's memory, opened with a key that may write and is bound to Bob."""
    key = served.create_key(tenant, "write", owner="bob").key
    async with AsyncMemory(served.url, api_key=key) as memory:
        yield memory


@pytest.fixture(scope="module")
def bobs_client(served: RunningServer) -> Iterator[httpx.Client]:
    """An HTTP client with a key that is bound to Bob."""
    with served.client(served.create_key(f"tenant {uuid4()}", "write", owner="bob").key) as client:
        yield client


async def test_the_key_works_for_its_owner(bob: AsyncMemory) -> None:
    (memory_id,) = (await bob.retain("Bob likes tea.")).memory_ids
    assert (await bob.memories.get(memory_id)).owner == "bob"
    assert len(await bob.recall("tea", owner="bob")) == 1


def test_no_route_accepts_another_owner(bobs_client: httpx.Client) -> None:
    for call in REACHABLE:
        by_scope = _send(bobs_client, call, _without_owner(call), {"Mnemic-Owner": "alice"})
        assert by_scope.status_code == 403, (call.route.call, by_scope.text)
        if _takes_owner(call) or call.route.reach == "tenant":
            arguments = example(call) | ({"owner": "alice"} if _takes_owner(call) else {})
            by_argument = _send(bobs_client, call, arguments)
            assert by_argument.status_code == 403, (call.route.call, by_argument.text)


async def test_ids_of_another_owner_are_not_found(alice: AsyncMemory, bob: AsyncMemory) -> None:
    memory_id, other_id = (await alice.retain([SECRET, "Another."], conversation="c")).memory_ids
    entity = await alice.entities.upsert("person", "Alice", facts={"secret": SECRET})
    triple = await alice.triples.add("treasure", "lies", "under the oak")
    grant = await alice.shares.grant("carol")
    (own_id,) = (await bob.retain("Mine.")).memory_ids
    mine = await bob.entities.upsert("person", "Bob")
    for attack in (
        bob.memories.get(memory_id),
        bob.memories.whole(memory_id),
        bob.memories.history(memory_id),
        bob.memories.update(memory_id, content="x"),
        bob.memories.supersede(memory_id, "x"),
        bob.memories.forget(memory_id),
        bob.memories.restore(memory_id),
        bob.memories.revert(memory_id, 1),
        bob.memories.tag(memory_id, "x"),
        bob.memories.untag(memory_id, "x"),
        bob.memories.relate(own_id, memory_id, "supports"),
        bob.memories.relate(memory_id, own_id, "supports"),
        bob.memories.decide_near_duplicate(memory_id, other_id, "distinct"),
        bob.conversations.get("c"),
        bob.entities.get(entity.entity_id),
        bob.entities.delete(entity.entity_id),
        bob.entities.relate(mine, entity.entity_id, "knows"),
        bob.entities.graph(entity.entity_id),
        bob.entities.upsert("person", "Bob", evidence=memory_id, facts={"a": 1}),
        bob.triples.add("a", "b", "c", evidence=memory_id),
        bob.shares.revoke(grant.grant_id),
        bob.shares.accept(grant.grant_id),
        bob.shares.drop(grant.grant_id),
        bob.conversations.record_tool("c", "search", memory_id=memory_id),
    ):
        with pytest.raises(NotFoundError):
            await attack
    assert await bob.triples.remove(triple.triple_id) is False
    for reading in (
        bob.memories.list(),
        bob.memories.as_of(memory_id, "2099-01-01T00:00:00Z"),
        bob.memories.related(memory_id),
        bob.conversations.recent(),
        bob.conversations.tools("c"),
        bob.entities.history(entity.entity_id),
        bob.entities.mentions(entity.entity_id),
        bob.entities.mentioned(memory_id),
        bob.entities.find("Alice"),
        bob.events.list(),
        bob.events.consumers(),
        bob.log.list(),
        bob.recall("treasure under the oak", refuse_below=0),
        bob.recall("treasure", conversation="c", refuse_below=0),
    ):
        assert "alice" not in await _result_text(reading)
    assert (await alice.memories.get(memory_id)).version == 1


def test_calls_of_reach_tenant_are_forbidden(bobs_client: httpx.Client) -> None:
    for call in CALLS:
        if call.route.reach == "tenant":
            response = _send(bobs_client, call, _without_owner(call))
            refused = response.status_code, response.json()["error"]
            assert refused == (403, ForbiddenError.__name__), call.route.call


async def _result_text(reading: Any) -> str:
    try:
        return repr(await reading)
    except MnemicError as error:
        return repr(error)


def _takes_owner(call: Call) -> bool:
    return any(parameter.name == "owner" for parameter in call.parameters)


def _without_owner(call: Call) -> dict[str, Any]:
    return {
        name: value
        for name, value in example(call).items()
        if name != "owner" or "{owner}" in call.route.path or call.route.reach == "tenant"
    }


def _send(
    client: httpx.Client, call: Call, arguments: dict[str, Any], headers: dict[str, str] | None = None
) -> httpx.Response:
    given = dict(arguments)
    variadic = [given.pop(parameter.name) for parameter in call.parameters if parameter.is_variadic]
    before = [given.pop(parameter.name) for parameter in call.parameters[:1]] if variadic else []
    first: list[Any] = [[]] if call.route.is_stream else []
    group = SimpleNamespace(_arguments={name: given.pop(name) for name in call.route.group_parameters})
    request = call.request(group, *first, *before, *(variadic[0] if variadic else []), **given)
    media_type = "application/x-ndjson" if call.route.is_stream else "application/json"
    return client.request(
        request.method,
        request.path,
        params=request.query,
        content=b'"x"\n' if call.route.is_stream else request.body,
        headers={"Content-Type": media_type, **(headers or {})},
    )
