"""The page Events: newest first, by type and owner, live; consumers with their lag."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx

from tests.dashboard.running import Dashboard

HOSTILE = "<img src=x onerror=alert(1)>"


def set_state(dashboard: Dashboard, owner: str, key: str, value: int = 1) -> None:
    dashboard.run(dashboard.memory.state.set(key, value, owner=owner))


def positions(html: str) -> list[int]:
    return [int(each) for each in re.findall(r'data-position="(\d+)"', html)]


@contextmanager
def streaming(client: httpx.Client, **fields: str) -> Iterator[Iterator[str]]:
    """The data lines of the stream, which is open when the block begins."""
    with client.stream("GET", "/ui/events/stream", params=fields) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        assert next(lines) == ": heartbeat"
        yield (line.removeprefix("data: ") for line in lines if line.startswith("data: "))


def test_events_are_listed_newest_first_and_filtered(empty_dashboard: Dashboard) -> None:
    with empty_dashboard.client() as client:
        assert "Nothing has happened yet" in client.get("/ui/events").text
        set_state(empty_dashboard, "alice", "one")
        set_state(empty_dashboard, "bob", HOSTILE)
        set_state(empty_dashboard, "alice", "one", 2)
        empty_dashboard.run(empty_dashboard.memory.entities.upsert("person", HOSTILE, owner="alice"))
        html = client.get("/ui/events?owner=alice").text
        assert positions(html) == [4, 3, 2, 1]
        assert "<img src=x" not in html
        assert "&lt;img src=x" in html
        assert positions(client.get("/ui/events?owner=alice&only=yes").text) == [4, 3, 1]
        assert positions(client.get("/ui/events?type=state.created").text) == [2, 1]
        assert positions(client.get("/ui/events?type=state").text) == [3, 2, 1]
        assert positions(client.get("/ui/events?before=3").text) == [2, 1]
        older = client.get("/ui/events?before=3").text
        assert "data-live=" not in older
        assert "No such event" in client.get("/ui/events?type=channel.forked").text


def test_events_are_paged(empty_dashboard: Dashboard) -> None:
    for number in range(61):
        set_state(empty_dashboard, "alice", f"key {number}")
    with empty_dashboard.client() as client:
        first = client.get("/ui/events").text
        (older,) = re.findall(r'href="([^"]*before=[^"]*)"', first)
        second = client.get(older.replace("&amp;", "&")).text
    assert positions(first) == list(range(61, 1, -1))
    assert positions(second) == [1]


def test_events_come_live_as_rows_that_are_escaped(empty_dashboard: Dashboard) -> None:
    set_state(empty_dashboard, "alice", "before")
    with empty_dashboard.client() as client, streaming(client, owner="alice") as rows:
        set_state(empty_dashboard, "bob", HOSTILE)
        row = next(rows)
        assert row.startswith('<li data-position="2"')
        assert "&lt;img src=x" in row
        assert "<img" not in row
        listed = client.get("/ui/events").text
    assert row in listed, "the same row as in the list"


def test_a_stream_obeys_its_filter(empty_dashboard: Dashboard) -> None:
    set_state(empty_dashboard, "alice", "before")
    with empty_dashboard.client() as client:
        with streaming(client, owner="alice", only="yes", type="state.created") as rows:
            set_state(empty_dashboard, "bob", "other owner")
            set_state(empty_dashboard, "alice", "before", 2)
            set_state(empty_dashboard, "alice", "mine")
            assert positions(next(rows)) == [4]
        assert client.get("/ui/events/stream?type=no").status_code == 422


def test_a_bound_key_sees_its_owner_only(empty_dashboard: Dashboard) -> None:
    set_state(empty_dashboard, "alice", "one")
    set_state(empty_dashboard, "bob", "secret of bob")
    with empty_dashboard.client("read", "alice") as client:
        html = client.get("/ui/events").text
        assert positions(html) == [1]
        assert "secret of bob" not in html
        assert client.get("/ui/events?owner=bob").status_code == 403
        assert client.get("/ui/events/stream?owner=bob").status_code == 403
        with streaming(client) as rows:
            set_state(empty_dashboard, "bob", "another secret")
            set_state(empty_dashboard, "alice", "two")
            assert positions(next(rows)) == [4]


def test_a_stream_misses_nothing_since_the_list(empty_dashboard: Dashboard) -> None:
    set_state(empty_dashboard, "alice", "one")
    with empty_dashboard.client() as client:
        html = client.get("/ui/events").text
        set_state(empty_dashboard, "alice", "in between")
        (address,) = re.findall(r'data-live="([^"]*)"', html)
        fields = dict(parse_qsl(urlsplit(address.replace("&amp;", "&")).query))
        with streaming(client, **fields) as rows:
            assert positions(next(rows)) == [2]
        assert client.get("/ui/events/stream?after=x").status_code == 422


def test_a_stream_continues_after_the_last_event(empty_dashboard: Dashboard) -> None:
    for number in range(3):
        set_state(empty_dashboard, "alice", f"key {number}")
    with (
        empty_dashboard.client() as client,
        client.stream("GET", "/ui/events/stream", headers={"Last-Event-ID": "1"}) as answer,
    ):
        found: list[int] = []
        for line in answer.iter_lines():
            found += positions(line)
            if len(found) == 2:
                break
    assert found == [2, 3]


def test_a_stream_ends_with_its_session(empty_dashboard: Dashboard) -> None:
    run, memory = empty_dashboard.run, empty_dashboard.memory
    set_state(empty_dashboard, "alice", "one")
    with empty_dashboard.client("read") as client, streaming(client) as rows:
        (key,) = run(memory.keys.list())
        run(memory.keys.revoke(key.key_id))
        ended: Any = None
        for number in range(1000):
            set_state(empty_dashboard, "alice", f"after {number}")
            ended = next(rows, "ended")
            if ended == "ended":
                break
    assert ended == "ended"


def test_consumers_are_shown_with_their_lag(empty_dashboard: Dashboard) -> None:
    run, memory = empty_dashboard.run, empty_dashboard.memory
    set_state(empty_dashboard, "alice", "one")
    run(memory.events.take_consumer(HOSTILE, start="beginning"))
    set_state(empty_dashboard, "alice", "two")
    with empty_dashboard.client() as client:
        html = client.get("/ui/events").text
    assert "2 behind" in html
    assert "<img src=x" not in html


def test_bad_fields_get_a_page_that_says_what_is_wrong(empty_dashboard: Dashboard) -> None:
    with empty_dashboard.client() as client:
        for address in ("/ui/events?type=no", "/ui/events?before=x", "/ui/events?before=-1"):
            answer = client.get(address)
            assert (answer.status_code, address) == (422, address)
            assert answer.headers["content-type"].startswith("text/html")


def test_the_stream_of_an_empty_list_begins_where_the_list_was_read(
    empty_dashboard: Dashboard,
) -> None:
    """Otherwise an event between the two requests would be missed."""
    with empty_dashboard.client() as client:
        assert "after=beginning" in client.get("/ui/events").text
        empty_dashboard.run(empty_dashboard.memory.scope(owner="alice").retain("Alice sails."))
        (newest,) = empty_dashboard.run(empty_dashboard.memory.events.list(order="newest", limit=1))
        assert f"after={newest.position}" in client.get("/ui/events?type=state.deleted").text
