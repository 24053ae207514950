"""Streams of events in the dashboard end with the session that opened them, without waiting for an event."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import psycopg
import pytest

from mnemic.types.key import NewApiKey
from tests.dashboard.running import SAME_ORIGIN, Dashboard
from tests.server.running import TLS, RunningServer

STREAM = "/ui/events/stream"


@contextmanager
def following(client: httpx.Client) -> Iterator[Iterator[str]]:
    """The lines of an open stream, after the first heartbeat; the next one would come in 15 s."""
    with client.stream("GET", STREAM) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        assert [next(lines), next(lines)] == [": heartbeat", ""]
        yield lines


def revoke(dashboard: Dashboard, client: httpx.Client, key: NewApiKey) -> None:
    dashboard.run(dashboard.memory.keys.revoke(key.key_id))


def sign_out(dashboard: Dashboard, client: httpx.Client, key: NewApiKey) -> None:
    assert client.post("/ui/sign-out").status_code == 303


def expire(dashboard: Dashboard, client: httpx.Client, key: NewApiKey) -> None:
    change_as_admin(
        dashboard.server,
        "UPDATE state.api_keys SET created_at = now() - interval '2 h', expires_at = now() WHERE key_id = %s",
        key,
    )


def outlive(dashboard: Dashboard, client: httpx.Client, key: NewApiKey) -> None:
    change_as_admin(
        dashboard.server,
        "UPDATE queue.sessions SET created_at = now() - interval '2 h', expires_at = now() WHERE key_id = %s",
        key,
    )


def change_as_admin(server: RunningServer, statement: str, key: NewApiKey) -> None:
    place = server.tenants._host.storage.server
    assert place is not None
    connection: psycopg.Connection[Any]
    with psycopg.connect(place.conninfo(user="mnemic", dbname="mnemic"), autocommit=True) as connection:
        connection.execute(statement.encode(), [key.key_id])


@pytest.mark.parametrize("end", [revoke, sign_out, expire, outlive])
def test_a_stream_ends_with_its_session(
    empty_dashboard: Dashboard, end: Callable[[Dashboard, httpx.Client, NewApiKey], None]
) -> None:
    key = empty_dashboard.server.create_key(empty_dashboard.tenant, "read", expires_at="9999-01-01T00:00:00Z")
    with httpx.Client(base_url=empty_dashboard.url, headers=SAME_ORIGIN, timeout=60, verify=TLS) as client:
        assert client.post("/ui/sign-in", data={"key": key.key}).status_code == 303
        with following(client) as lines:
            end(empty_dashboard, client, key)
            assert list(lines) == []


def test_a_stream_of_a_bound_key_has_the_events_of_its_owner(empty_dashboard: Dashboard) -> None:
    with empty_dashboard.client("read", "alice") as client:
        assert client.get(STREAM, params={"owner": "bob"}).status_code == 403
        with following(client) as lines:
            for owner in ("bob", "alice"):
                empty_dashboard.run(empty_dashboard.memory.retain(f"A secret of {owner}.", owner=owner))
            first = next(line for line in lines if line.startswith("data: "))
            shown = first + "".join(iter(lambda: next(lines), ""))
    assert "bob" not in shown
