"""`mnemic mcp` as a client starts it: a process with standard input and output."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from mcp import Client, StdioServerParameters

from mnemic import Memory
from mnemic.cli.app import main
from tests.mcp.conftest import called, refused
from tests.mcp.test_permissions import EXAMPLES
from tests.process_output import complaints
from tests.running_folder import running
from tests.warm_start.starting import WarmStart

MNEMIC = str(Path(sys.executable).with_name("mnemic"))
SECONDS_MAX = 300
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "by hand", "version": "1"},
}
HANDSHAKE = (
    json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}).encode() + b"\n"
)


@pytest.fixture(scope="module")
def folder(memory_dir: Path) -> Iterator[Path]:
    """A data folder whose server runs all the time, so that each process need not start one."""
    yield from running(memory_dir / "mcp")


@pytest.fixture
def place(folder: Path) -> list[str]:
    """The options for the tenant of the test."""
    return ["--data-dir", str(folder), "--tenant", f"tenant {uuid4()}", "--embedder", "test"]


@asynccontextmanager
async def process(program: str, *options: str, env: dict[str, str] | None = None) -> AsyncIterator[Client]:
    started = StdioServerParameters(command=program, args=["mcp", *options], env=env)
    async with Client(started, read_timeout_seconds=SECONDS_MAX) as client:
        yield client


async def test_every_tool_and_resource_is_there(place: list[str]) -> None:
    options = ["--owner", "alice", "--compat", "reference", "--compat", "chatgpt", *place]
    async with process(MNEMIC, *options) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == list(EXAMPLES)
        stored = await called(client, "retain", content="Alice moved to Berlin.")
        found = await called(client, "recall", query="Where did Alice move?")
        assert [hit["memory_id"] for hit in found["memories"]] == [stored["memory_id"]]
        for tool in tools:
            assert (await client.call_tool(tool.name, EXAMPLES[tool.name])).content
        for page in (await client.list_resources()).resources:
            assert (await client.read_resource(page.uri)).contents
        assert len((await client.list_resource_templates()).resource_templates) == 3


async def test_a_memory_survives_the_process(folder: Path, place: list[str], warm_start: WarmStart) -> None:
    async with process(warm_start.mnemic, "--owner", "alice", *place) as client:
        stored = await called(client, "retain", content="Alice moved to Berlin.")
    with Memory(data_dir=folder, tenant=place[3], owner="alice", embedder="test") as memory:
        assert [record.process for record in memory.memories.list()] == ["mcp"]
    async with process(warm_start.mnemic, *place, env={"MNEMIC_OWNER": "alice"}) as client:
        found = await called(client, "recall", query="Where did Alice move?")
    async with process(warm_start.mnemic, "--owner", "bob", *place) as client:
        other = await called(client, "recall", query="Where did Alice move?")
    assert [hit["memory_id"] for hit in found["memories"]] == [stored["memory_id"]]
    assert other["refused"]


async def test_the_owner_is_fixed_unless_any_is_allowed(place: list[str], warm_start: WarmStart) -> None:
    async with process(warm_start.mnemic, "--owner", "alice", *place) as client:
        assert "bound to one owner" in await refused(client, "retain", content="x", owner="bob")
    async with process(warm_start.mnemic, "--any-owner", *place) as client:
        await called(client, "retain", content="Bob moved to Bern.", owner="bob")
        assert not (await called(client, "recall", query="Where did Bob move?", owner="bob"))["refused"]


def run(
    program: str, *options: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[bytes]":
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MNEMIC_")}
    return subprocess.run(
        [program, "mcp", *options],
        input=stdin,
        capture_output=True,
        env={**inherited, **(env or {})},
        timeout=SECONDS_MAX,
        check=False,
    )


def test_it_ends_cleanly_when_the_client_closes_its_input(place: list[str]) -> None:
    ended = run(MNEMIC, "--owner", "alice", *place)
    assert (ended.returncode, ended.stdout, complaints(ended.stderr)) == (0, b"", "")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_it_waits_for_input(
    place: list[str], sent: signal.Signals, warm_start: WarmStart
) -> None:
    command = [warm_start.mnemic, "mcp", "--owner", "alice", *place]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdin is not None
        assert started.stdout is not None
        started.stdin.write(HANDSHAKE)
        started.stdin.flush()
        assert b"jsonrpc" in started.stdout.readline()
        started.send_signal(sent)
        assert started.wait(SECONDS_MAX) == -sent


def test_it_ends_quietly_when_the_client_exits_early(place: list[str], warm_start: WarmStart) -> None:
    command = [warm_start.mnemic, "mcp", "--owner", "alice", *place]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as started:
        assert started.stdout is not None
        started.stdout.close()
        _, said = started.communicate(HANDSHAKE, SECONDS_MAX)
    assert (started.returncode, complaints(said)) == (0, "")


def test_standard_output_carries_nothing_but_the_protocol(place: list[str], warm_start: WarmStart) -> None:
    ended = run(warm_start.mnemic, "--owner", "alice", *place, stdin=HANDSHAKE + b"no JSON\n")
    messages = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.returncode == 0
    assert messages[0]["result"]["serverInfo"]["name"] == "mnemic"
    assert "recall" in messages[0]["result"]["instructions"]
    assert [message["jsonrpc"] for message in messages] == ["2.0"] * len(messages)
    assert b"Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("options", "environment", "complaint"),
    [
        ([], {}, "give --owner NAME, or set MNEMIC_OWNER"),
        (["--any-owner", "--owner", "alice"], {}, "not both"),
        (["--any-owner"], {"MNEMIC_OWNER": "alice"}, "not both"),
        (["--owner", "alice", "--compat", "gemini"], {}, "any of reference, chatgpt"),
    ],
)
def test_invalid_options_are_refused(
    options: list[str],
    environment: dict[str, str],
    complaint: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("MNEMIC_OWNER", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["mnemic", "mcp", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out) == (1, "")
    assert complaint in " ".join(printed.err.split())


def test_an_unreachable_memory_is_reported_on_standard_error(warm_start: WarmStart) -> None:
    ended = run(warm_start.mnemic, "--owner", "alice", "--url", "postgresql://127.0.0.1:1/none")
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert ended.stderr.startswith(b"Error:")
    assert b"Traceback" not in ended.stderr


def test_a_missing_package_is_reported_with_the_install_command() -> None:
    code = (
        "import sys; sys.modules['mcp'] = None; sys.argv = ['mnemic', 'mcp'];"
        "from mnemic.cli.app import main; main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert ended.returncode == 1
    assert "pip install 'mnemic[mcp]'" in " ".join(ended.stderr.split())
