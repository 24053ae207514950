"""A key that is bound to an owner cannot access another owner in any way."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest

from mnemic.sdk.http.surface import SURFACE, Route
from tests.server.conftest import retained
from tests.server.running import RunningServer

SECRET = "Bob keeps his diary under the pillow."


@dataclass(frozen=True)
class Scene:
    """Alice has a key of her own; bob has secrets in the same tenant."""

    alice: httpx.Client
    everybody: httpx.Client
    memory_id: str
    entity_id: str
    triple_id: str
    grant_id: str


@pytest.fixture(scope="module")
def scene(server: RunningServer) -> Iterator[Scene]:
    tenant = f"tenant {uuid4()}"
    with (
        server.client(server.create_key(tenant, "write", owner="alice").key) as alice,
        server.client(server.create_key(tenant, "admin").key) as everybody,
    ):
        bob = {"owner": "bob"}
        memory_id = retained(everybody, SECRET, conversation="diary", **bob)
        entity = posted(
            everybody, "/v1/entities", category="person", name="Carol", facts={"is": SECRET}, **bob
        )
        triple = posted(everybody, "/v1/triples", subject="Bob", predicate="hides", object=SECRET, **bob)
        grant = posted(everybody, "/v1/shares", to="carol", **bob)
        everybody.put("/v1/state/plan", json={"document": {"plan": SECRET}, **bob}).raise_for_status()
        posted(everybody, "/v1/journal", evaluated=SECRET, **bob)
        retained(alice, "Alice has a diary, too.", owner="alice")
        yield Scene(alice, everybody, memory_id, entity["entity_id"], triple["triple_id"], grant["grant_id"])


def posted(client: httpx.Client, path: str, **body: Any) -> Any:
    answer = client.post(path, json=body)
    assert answer.is_success, answer.text
    return answer.json()


def path_of(route: Route, scene: Scene) -> str:
    """The path of an object of bob."""
    values = {
        "memory_id": scene.memory_id,
        "from_id": scene.memory_id,
        "like_id": scene.memory_id,
        "entity": scene.entity_id,
        "start": scene.entity_id,
        "triple": scene.triple_id,
        "grant_id": scene.grant_id,
        "conversation": "diary",
        "key": "plan",
        "name": "Carol",
        "owner": "bob",
    }
    path = route.path
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", value)
    return path


def test_no_route_returns_data_of_another_owner(scene: Scene, subtests: pytest.Subtests) -> None:
    for route in SURFACE:
        with subtests.test(f"{route.method} {route.path}"):
            check_route(route, scene)


def check_route(route: Route, scene: Scene) -> None:
    """Call it without an owner in the request, with bob as an argument, and with bob in the scope."""
    path = path_of(route, scene)
    in_query = route.method in ("GET", "DELETE") or route.call == "retain_many"
    named = {"params": {"owner": "bob"}} if in_query else {"json": {"owner": "bob"}}
    for options in ({}, named, {"headers": {"Mnemic-Owner": "bob"}}):
        with scene.alice.stream(route.method, path, **options) as answer:  # type: ignore[arg-type]
            if answer.headers["content-type"].startswith("text/event-stream"):
                assert not options, "a stream for bob is refused"
                continue
            text = answer.read().decode()
        assert SECRET not in text
        assert "Carol" not in text or answer.status_code == 404
        if options:
            assert answer.status_code in (403, 422), text


def test_naming_another_owner_is_forbidden(scene: Scene) -> None:
    for answer in (
        scene.alice.post("/v1/recall", json={"query": "diary", "owner": "bob"}),
        scene.alice.post("/v1/memories", json={"content": "x", "owner": "bob"}),
        scene.alice.get("/v1/memories", params={"owner": "bob"}),
        scene.alice.get(f"/v1/memories/{scene.memory_id}", params={"owner": "bob"}),
        scene.alice.get("/v1/conversations/diary/turns", params={"owner": "bob"}),
        scene.alice.get("/v1/memories", headers={"Mnemic-Owner": "bob"}),
        scene.alice.get("/v1/events/stream", params={"owner": "bob"}),
        scene.alice.get("/v1/events", params={"owner": "bob"}),
    ):
        assert answer.status_code == 403, answer.text
        assert answer.json()["error"] == "ForbiddenError"


def test_objects_of_another_owner_are_not_found_by_id(scene: Scene) -> None:
    for path in (
        f"/v1/memories/{scene.memory_id}",
        f"/v1/memories/{scene.memory_id}/whole",
        f"/v1/entities/{scene.entity_id}",
        f"/v1/entities/{scene.entity_id}/graph",
        "/v1/conversations/diary",
    ):
        answer = scene.alice.get(path)
        assert answer.status_code == 404, answer.text
        # The same request with an unbound key finds it, so the paths above are right.
        assert scene.everybody.get(path, params={"owner": "bob"}).status_code == 200
    assert scene.alice.get("/v1/state/plan").json() is None
    assert SECRET in scene.everybody.get("/v1/state/plan", params={"owner": "bob"}).text


def test_its_own_owner_need_not_be_named(scene: Scene) -> None:
    assert [memory["content"] for memory in scene.alice.get("/v1/memories").json()] == [
        "Alice has a diary, too."
    ]
    hits = scene.alice.post("/v1/recall", json={"query": "Who has a diary?", "refuse_below": 0}).json()[
        "hits"
    ]
    assert {hit["memory"]["owner"] for hit in hits} == {"alice"}
    assert scene.alice.get("/v1/whoami").json()["owner"] == "alice"


def test_events_are_those_of_its_owner(scene: Scene) -> None:
    events = scene.alice.get("/v1/events", params={"limit": "1000"}).json()
    assert {event["owner"] for event in events} == {"alice"}


def test_calls_for_the_whole_tenant_are_forbidden(scene: Scene) -> None:
    for path in ("/v1/owners", "/v1/stats", "/v1/keys", "/v1/audit"):
        assert scene.alice.get(path).status_code == 403
