"""`mnemic events`: what happened, what happens, and who follows it."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mnemic import Memory
from tests.cli.conftest import Run
from tests.process_output import complaints
from tests.server.running import running_server
from tests.warm_start.starting import WarmStart

END_TIMEOUT_S = 60


@contextmanager
def following(program: str, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A real process that follows events, as from a shell; what is still running in the end is killed."""
    process = subprocess.Popen(
        [program, "events", "follow", *arguments],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def next_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_events_are_listed_by_type_and_from_a_position_on(mnemic: Run, memory: Memory) -> None:
    memory.state.set("first", 1)
    memory.state.set("[second]", 2)
    memory.state.delete("first")
    listed = mnemic("events", "list", "--json").json
    assert [(event["position"], event["type"], event["subject"]) for event in listed] == [
        (1, "state.created", "first"),
        (2, "state.created", "[second]"),
        (3, "state.deleted", "first"),
    ]
    deleted = mnemic("events", "list", "--type", "state.deleted", "--json").json
    assert [event["position"] for event in deleted] == [3]
    behind = mnemic("events", "list", "--after", "1", "--limit", "1", "--json").json
    assert [event["position"] for event in behind] == [2]
    assert mnemic("events", "list", "--owner", "bob", "--json").json == []
    shown = mnemic("events", "list")
    assert (shown.code, "[second]" in shown.out, "state.deleted" in shown.out) == (0, True, True)


def test_consumers_are_listed_with_how_far_they_are(mnemic: Run, memory: Memory) -> None:
    for number in range(3):
        memory.state.set(f"key {number}", 1)
    for event in memory.events.subscribe("my [cache]", types=["state.created"], start="beginning"):
        if event.position == 2:
            break
    (consumer,) = mnemic("events", "consumers", "--json").json
    assert (consumer["name"], consumer["position"], consumer["behind"]) == ("my [cache]", 1, 2)
    shown = " ".join(mnemic("events", "consumers").out.split())
    assert "my [cache] alice state.created 1 2" in shown
    assert mnemic("events", "consumers", "--after", "my [cache]", "--json").json == []


@pytest.mark.usefixtures("mnemic")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_following_prints_a_line_for_each_event_until_it_is_stopped(
    memory: Memory, number: signal.Signals, warm_start: WarmStart
) -> None:
    memory.state.set("two  words", 1)
    with following(warm_start.mnemic, "--from", "beginning") as process:
        first = next_line(process).split(" ", 3)
        assert (first[0], first[3]) == ("1", "state.created alice two words\n")
        memory.state.set("second", 1)
        assert next_line(process).endswith("state.created alice second\n")
        process.send_signal(number)
        rest, said = process.communicate(timeout=END_TIMEOUT_S)
    assert (process.returncode, rest, complaints(said)) == (0, "", "")


@pytest.mark.usefixtures("mnemic")
def test_following_begins_behind_a_position_and_prints_json(memory: Memory, warm_start: WarmStart) -> None:
    for key in ("first", "second"):
        memory.state.set(key, 1)
    memory.state.delete("first")
    with following(warm_start.mnemic, "--from", "1", "--type", "state.deleted", "--json") as process:
        event = json.loads(next_line(process))
    assert (event["position"], event["type"], event["subject"]) == (3, "state.deleted", "first")
    assert event["at"].endswith("+00:00")


@pytest.mark.usefixtures("mnemic")
def test_a_server_is_followed_by_the_same_options(
    folder: Path, tenant: str, memory: Memory, warm_start: WarmStart
) -> None:
    with running_server(folder) as server:
        memory.state.set("first", 1)
        key = server.create_key(tenant, "read").key
        options = ["--url", server.url, "--from", "beginning"]
        with following(warm_start.mnemic, *options, MNEMIC_API_KEY=key) as process:
            assert next_line(process).endswith("state.created alice first\n")
            memory.state.set("second", 1)
            assert next_line(process).endswith("state.created alice second\n")
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=END_TIMEOUT_S) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("follow", "--from", "soon"), '--from must be "now", "beginning" or the position of an event'),
        (("follow", "--from", "-1"), "--from must be"),
        (("follow", "--from", "9" * 19), "--from must be"),
        (("follow", "--type", "no.type"), "is none of memory.created"),
        (("list", "--type", "no.type"), "is none of memory.created"),
        (("list", "--after", "-1"), "after must be the position"),
        (("list", "--limit", "0"), "limit must be"),
        (("consumers", "--limit", "0"), "limit must be"),
    ],
)
def test_a_mistake_is_a_clear_error(mnemic: Run, arguments: tuple[str, ...], message: str) -> None:
    ended = mnemic("events", *arguments)
    assert (ended.code, ended.out) == (1, "")
    assert message in ended.said
