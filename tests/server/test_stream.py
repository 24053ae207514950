"""Server-Sent Events: streaming, reconnecting, heartbeats, the end of a stream."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from mnemic.server.quota import QuotaLimits
from tests.server.conftest import OpenClient, retained
from tests.server.running import RunningServer, running_server
from tests.server.test_authentication import is_problem
from tests.waiting import wait_until

STREAM = "/v1/events/stream"


@pytest.fixture(scope="module")
def lively(server_folder: Path) -> Iterator[RunningServer]:
    """A server with a fast heartbeat and few streams."""
    with running_server(
        server_folder, heartbeat_s=0.1, streams=QuotaLimits(server=9, tenant=6, key=3)
    ) as server:
        yield server


class Stream:
    """Reads a stream, part by part."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.iter_lines()

    def part(self) -> dict[str, str]:
        """The fields of the next part; a comment is the field without a name."""
        fields = dict[str, str]()
        for line in self._lines:
            if not line:
                return fields
            name, _, value = line.partition(": ")
            fields[name.rstrip(":")] = value
        raise EOFError

    def to_the_end(self) -> None:
        """Read on until EOFError."""
        while True:
            self.part()

    def event(self) -> dict[str, Any]:
        """The next event, past heartbeats."""
        while "data" not in (part := self.part()):
            pass
        data: dict[str, Any] = json.loads(part["data"])
        assert (part["id"], part["event"]) == (str(data["position"]), data["type"])
        return data


@contextmanager
def following(client: httpx.Client, **options: Any) -> Iterator[Stream]:
    with client.stream("GET", STREAM, **options) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        stream = Stream(response)
        assert stream.part() == {"": "heartbeat"}
        yield stream


def test_events_come_as_they_happen(writer: httpx.Client) -> None:
    retained(writer, "Before.")
    with following(writer) as stream:
        memory_id = retained(writer, "Now.")
        event = stream.event()
    assert (event["type"], event["subject"], event["owner"]) == ("memory.created", memory_id, "alice")
    assert "Now." not in json.dumps(event)


def test_reconnecting_misses_no_event(writer: httpx.Client) -> None:
    with following(writer) as stream:
        retained(writer, "First.")
        last = stream.event()["position"]
    missed = [retained(writer, text) for text in ("Second.", "Third.")]
    with following(writer, headers={"Last-Event-ID": str(last)}) as stream:
        assert [stream.event()["subject"] for _ in missed] == missed
    with following(writer, params={"start": "beginning"}) as stream:
        assert stream.event()["position"] <= last


def test_events_are_filtered_by_type_and_owner(writer: httpx.Client) -> None:
    params = {"types": ["state.created"], "owner": "bob"}
    with following(writer, params=params) as stream:
        retained(writer, "Not this.", owner="bob")
        for owner in ("alice", "bob"):
            writer.put("/v1/state/plan", json={"document": 1, "owner": owner}).raise_for_status()
        event = stream.event()
    assert (event["type"], event["owner"]) == ("state.created", "bob")


def test_a_key_with_an_owner_sees_the_events_of_that_owner(
    client_as: OpenClient, writer: httpx.Client
) -> None:
    with following(client_as("read", owner="alice"), params={"start": "beginning"}) as stream:
        retained(writer, "Bob's.", owner="bob")
        retained(writer, "Alice's.", owner="alice")
        assert stream.event()["owner"] == "alice"


def test_the_owner_header_filters_events(writer: httpx.Client) -> None:
    with following(writer, headers={"Mnemic-Owner": "bob"}) as stream:
        retained(writer, "Alice's.", owner="alice")
        retained(writer, "Bob's.", owner="bob")
        assert stream.event()["owner"] == "bob"


@pytest.mark.parametrize(
    "options",
    [
        {"params": {"start": "later"}},
        {"params": {"start": "-1"}},
        {"params": {"start": "9" * 40}},
        {"params": {"start": "٣"}},
        {"headers": {"Last-Event-ID": "x"}},
        {"params": {"types": "memory.exploded"}},
        {"params": {"owner": "a\0b"}},
    ],
)
def test_an_invalid_stream_request_gets_an_error_status(
    writer: httpx.Client, options: dict[str, Any]
) -> None:
    assert is_problem(writer.get(STREAM, **options), 422, "InvalidInputError")


def test_a_silent_stream_has_a_heartbeat(lively: RunningServer, tenant: str) -> None:
    with lively.client(lively.create_key(tenant, "read").key) as client, following(client) as stream:
        assert [stream.part() for _ in range(3)] == [{"": "heartbeat"}] * 3


def test_a_stream_ends_when_its_key_does(lively: RunningServer, tenant: str) -> None:
    made = lively.create_key(tenant, "read")
    with lively.client(made.key) as client, following(client) as stream:
        lively.run(lively.memory(tenant).keys.revoke(made.key_id))
        with pytest.raises(EOFError):
            stream.to_the_end()


def test_a_silent_stream_ends_with_its_key_before_the_next_heartbeat(
    server: RunningServer, tenant: str
) -> None:
    made = server.create_key(tenant, "read")
    with server.client(made.key) as client, following(client) as stream:
        server.run(server.memory(tenant).keys.revoke(made.key_id))
        with pytest.raises(EOFError):
            stream.part()


def test_the_number_of_streams_is_limited(lively: RunningServer, tenant: str) -> None:
    with lively.client(lively.create_key(tenant, "read").key) as client:
        with following(client), following(client), following(client):
            refused = client.get(STREAM)
            assert is_problem(refused, 429, "TooManyRequestsError")
            assert int(refused.headers["retry-after"]) > 0

        def is_accepted() -> bool:
            with client.stream("GET", STREAM) as response:
                return response.status_code == 200

        wait_until(is_accepted, what="closed streams to make room")


def test_streams_end_when_the_server_stops(server_folder: Path, tenant: str) -> None:
    with running_server(server_folder) as server:
        client = server.client(server.create_key(tenant, "read").key)
        stream = client.stream("GET", STREAM)
        response = stream.__enter__()
        assert response.status_code == 200
    with pytest.raises(EOFError):
        Stream(response).to_the_end()
    stream.__exit__(None, None, None)
    client.close()
