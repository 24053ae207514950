"""Attacks on the dashboard: planted notices, texts made to cost, names that look like others."""

import dataclasses
import json
import socket
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest

from mnemic.dashboard.app import mount_dashboard
from mnemic.dashboard.context_bands import bands_of
from mnemic.dashboard.forms import FORM_MEDIA_TYPE
from mnemic.dashboard.notices import COOKIE
from mnemic.dashboard.views.context import EVENTS_MAX, OBJECTS_MAX
from mnemic.dashboard.word_diff import diff_words
from mnemic.server.quota import QuotaLimits
from mnemic.types.context import ContextEvent, ContextObject
from mnemic.types.memory import CONTENT_MAX_CHARACTERS, TAGS_MAX
from tests.dashboard.running import SAME_ORIGIN, Dashboard
from tests.running_folder import running
from tests.server.running import RunningServer, cookie_of, running_server
from tests.waiting import wait_until

PAGE_MAX_BYTES = 300_000
"""Far more than an honest page has, far less than fifty memories of the largest size."""


@pytest.fixture(scope="module")
def served(memory_dir: Path) -> Iterator[RunningServer]:
    for folder in running(memory_dir / "dashboard-attacks"):
        with running_server(folder, prepare=mount_dashboard) as server:
            yield server


@pytest.fixture
def dashboard(served: RunningServer) -> Dashboard:
    return Dashboard(served, f"attacked {uuid4()}", "alice")


@pytest.fixture
def client(dashboard: Dashboard) -> Iterator[httpx.Client]:
    with dashboard.client() as client:
        yield client


def test_another_server_on_the_host_plants_no_notice(dashboard: Dashboard, client: httpx.Client) -> None:
    """Its cookie would put a form behind the button Undo that erases an owner."""
    planted = {
        "text": "Archived 3 memories.",
        "undo": {"action": "/ui/owners/erase", "fields": {"name": "alice", "typed": "alice"}},
    }
    text = json.dumps(planted)
    packed = urlsafe_b64encode(text.encode()).decode()
    own = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    for value in (quote(text), f".{packed}", f"{'0' * 64}.{packed}", f"{packed}.{packed}", ".", "\xff.\xff"):
        cookies = f"{cookie_of(client, COOKIE)}={value}; {own}"
        answer = client.get("/ui/keys", headers={b"Cookie": cookies.encode("latin-1")})
        assert answer.status_code == 200
        assert "Archived 3 memories." not in answer.text
        assert "/ui/owners/erase" not in answer.text


def test_a_notice_of_another_session_is_not_shown(dashboard: Dashboard, client: httpx.Client) -> None:
    with dashboard.client() as other:
        made = dashboard.run(dashboard.memory.scope(owner="alice").retain("Alice sails."))
        done = other.post(f"/ui/memories/{made.memory_ids[0]}/forget?owner=alice", data={"reason": "x"})
        assert done.status_code == 303, done.text
        notice = done.cookies[cookie_of(client, COOKIE)]
        assert "Forgotten:" in other.get("/ui/keys").text
    client.cookies.set(cookie_of(client, COOKIE), notice, path="/ui")
    assert "Forgotten:" not in client.get("/ui/keys").text


def test_the_undo_of_an_owner_with_a_long_name_fits_into_a_cookie(
    dashboard: Dashboard, client: httpx.Client
) -> None:
    """Browsers drop a cookie of more than 4,096 bytes, and the undo with it."""
    owner = "".join(chr(0x1F300 + n) for n in range(256))
    made = dashboard.run(dashboard.memory.scope(owner=owner).retain("It rains."))
    path = f"/ui/memories/{made.memory_ids[0]}"
    done = client.post(f"{path}/forget", params={"owner": owner}, data={"reason": "x"})
    assert done.status_code == 303, done.text
    assert len(done.headers["set-cookie"]) < 4096
    assert f"{path}/restore" in client.get(path, params={"owner": owner}).text


def test_an_owner_whose_name_has_blanks_is_not_taken_for_another(
    dashboard: Dashboard, client: httpx.Client
) -> None:
    for owner in ("alice", " alice", "alice "):
        dashboard.run(dashboard.memory.scope(owner=owner).retain(f"The secret of <{owner}>."))
    for owner in ("alice", " alice", "alice "):
        page = client.get("/ui/memories", params={"owner": owner}).text
        assert f"&lt;{owner}&gt;" in page
        assert page.count("The secret of") == 1
        assert f'<option value="{owner}" selected>' in page
    made = client.post("/ui/keys", data={"for_owner": "alice ", "name": "with a blank", "role": "read"})
    assert made.status_code == 200, made.text
    listed = dashboard.run(dashboard.memory.keys.list())
    assert [key.owner for key in listed if key.name == "with a blank"] == ["alice "]


def test_ids_of_another_tenant_lead_nowhere(
    served: RunningServer, dashboard: Dashboard, client: httpx.Client, subtests: pytest.Subtests
) -> None:
    other = Dashboard(served, f"other {uuid4()}", "alice").memory
    theirs = other.scope(owner="alice")
    (memory_id,) = dashboard.run(theirs.retain("Their secret.")).memory_ids
    entity_id = dashboard.run(theirs.entities.upsert("person", "Their friend")).entity_id
    job_id = dashboard.run(theirs.jobs.enqueue("their.job")).job_id
    key_id = dashboard.run(other.keys.create(role="read", name="theirs")).key_id
    for path in (f"memories/{memory_id}", f"entities/{entity_id}", f"jobs/{job_id}", "memories", "entities"):
        with subtests.test(path):
            answer = client.get(f"/ui/{path}?owner=alice")
            assert answer.status_code == (404 if "/" in path else 200)
            assert "Their" not in answer.text
    forms = {
        **{f"memories/{memory_id}/{act}": {"reason": "x"} for act in ("forget", "restore", "anchor")},
        f"memories/{memory_id}/edit": {"content": "Mine."},
        f"memories/{memory_id}/supersede": {"content": "Mine."},
        f"memories/{memory_id}/tag": {"tag": "mine"},
        "jobs/cancel": {"job_id": str(job_id)},
        "keys/revoke": {"key_id": str(key_id)},
    }
    for path, fields in forms.items():
        with subtests.test("form", path=path):
            assert client.post(f"/ui/{path}?owner=alice", data=fields).status_code == 404
    assert dashboard.run(theirs.memories.get(memory_id)).version == 1
    assert dashboard.run(theirs.jobs.status(job_id)).state != "cancelled"
    assert dashboard.run(other.keys.list())[0].revoked_at is None


def test_large_texts_and_many_tags_make_no_large_page(
    dashboard: Dashboard, client: httpx.Client, subtests: pytest.Subtests
) -> None:
    own = dashboard.memory.scope(owner="alice")
    tags = [f"tag{n}" + "x" * 50 for n in range(TAGS_MAX)]
    for n in range(50):
        text = f"Harbour {n} " + "'\"<>&" * (CONTENT_MAX_CHARACTERS // 5 - 10)
        dashboard.run(own.retain(text, tags=tags))
    for address in ("memories", "recall?q=harbour&limit=50", "cleanup?unused_days=1", "overview"):
        with subtests.test(address):
            answer = client.get(f"/ui/{address}")
            assert answer.status_code == 200
            assert len(answer.content) < PAGE_MAX_BYTES


def test_forms_in_memory_are_bounded(memory_dir: Path) -> None:
    """Otherwise all requests that a key may have in progress could hold forms of the largest size."""
    limits = QuotaLimits(server=5_000_000, tenant=1_500_000, key=1_500_000)
    for folder in running(memory_dir / "dashboard-forms"):
        with (
            running_server(folder, prepare=mount_dashboard, body_bytes=limits) as server,
            Dashboard(server, f"attacked {uuid4()}", "alice").client() as client,
            Dashboard(server, f"other {uuid4()}", "alice").client() as other,
        ):
            place = httpx.URL(server.url)
            cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
            with socket.create_connection((place.host, place.port)) as stalled:
                headers = {**SAME_ORIGIN, "Host": f"{place.host}:{place.port}", "Cookie": cookies}
                headers |= {"Content-Type": FORM_MEDIA_TYPE, "Content-Length": "1200000"}
                lines = [f"{name}: {value}" for name, value in headers.items()]
                head = "\r\n".join(["POST /ui/keys HTTP/1.1", *lines, "", ""])
                stalled.sendall(head.encode() + b"x" * 1_100_000)
                wait_until(partial(_is_answered, client, 429), what="too many bytes of forms")
                assert _is_answered(other, 422)
            wait_until(partial(_is_answered, client, 422), what="the bytes to be given back")


def _is_answered(client: httpx.Client, status: int) -> bool:
    form = {"name": "x" * 1_000_000, "role": "read"}
    return client.post("/ui/keys", data=form).status_code == status


def test_a_session_with_many_objects_and_requests_is_drawn_in_linear_time() -> None:
    now = datetime.now(UTC)

    def event(number: int, **given: Any) -> ContextEvent:
        return ContextEvent(event_id=uuid4(), call=number, at=now, **given)

    def item(number: int) -> ContextObject:
        described: dict[str, Any] = dict.fromkeys(each.name for each in dataclasses.fields(ContextObject))
        return ContextObject(**{**described, "key": str(number), "tokens": (10, 3, 2, 1, 0)})

    objects = [item(number) for number in range(OBJECTS_MAX)]
    admitted = [event(1, kind="admission", key=each.key, to_level=0) for each in objects]
    shortened = [
        event(2, kind="transition", key=str(number), from_level=0, to_level=1) for number in range(7)
    ]
    requests = [event(number, kind="request", tokens=10_000) for number in range(EVENTS_MAX - OBJECTS_MAX)]
    start = time.thread_time()
    drawn = bands_of([*admitted, *requests[:-1], *shortened, requests[-1]], objects)
    assert time.thread_time() - start < 0.2
    assert drawn[-2].levels == (10_000, 0, 0, 0)
    assert (drawn[-1].levels, drawn[-1].other) == ((9_930, 21, 0, 0), 49)


def test_comparing_texts_has_a_bound(subtests: pytest.Subtests) -> None:
    """A page shows twenty comparisons, while every other request waits."""
    half = CONTENT_MAX_CHARACTERS // 2
    texts = {
        "one letter": ("!" * 1999, "?" * 30 + "!" * 1900),
        "two words": ("a b " * (half // 2), "b a " * (half // 2)),
        "short sentences": ("a.b." * (half // 2), "b.a." * (half // 2)),
        "blanks": (" a" * half, "a  " * (half // 2)),
    }
    for name, (before, after) in texts.items():
        with subtests.test(name):
            start = time.thread_time()
            found = diff_words(before, after)
            assert time.thread_time() - start < 0.5
            assert sum(len(text) for _, text in found) < CONTENT_MAX_CHARACTERS
