"""Attacks on the log and the file descriptors of `mnemic serve`: both are bounded, and the server goes on."""

import resource
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from mnemic.server.logs import REPEATED_MAX
from tests.running_folder import running
from tests.server.test_serving import MAIN, Process
from tests.waiting import wait_until

PATIENCE_S = 60
SPARE_FILES = 20
FLOOD = 50


@pytest.fixture(scope="module")
def folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "logs")


@pytest.fixture
def serving(folder: Path, tmp_path: Path) -> Iterator[Process]:
    # Its limits are set from outside, so it is not a fork that a client stands for.
    program = [sys.executable, "-c", MAIN]
    process = Process(program, folder, tmp_path / "log", "--no-worker", "--no-mcp")
    yield process
    process.process.kill()
    process.process.wait(PATIENCE_S)
    assert process.process.stdout is not None
    process.process.stdout.close()


def connect(url: str) -> socket.socket:
    address = urlsplit(url)
    return socket.create_connection((str(address.hostname), address.port or 0), timeout=PATIENCE_S)


def is_alive(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", timeout=PATIENCE_S).status_code == 200
    except httpx.TransportError:
        return False


def lines_about_errors(log: str) -> list[str]:
    return [line for line in log.splitlines() if "mnemic.access" not in line]


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs Linux, to limit another process")
def test_running_out_of_descriptors_is_survived_and_logged_briefly(serving: Process) -> None:
    url = serving.url()
    pid = serving.process.pid
    limit = len(list(Path(f"/proc/{pid}/fd").iterdir())) + SPARE_FILES
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, before[1]))
    with ExitStack() as stack:
        for _ in range(FLOOD):
            stack.enter_context(connect(url)).sendall(b"GET /he")
        wait_until(lambda: "cannot accept" in serving.log(), what="the server to run out of descriptors")
        assert is_alive(url), "idle connections give way to new ones"
    wait_until(lambda: is_alive(url), what="the server to answer again")
    assert serving.end(signal.SIGTERM) == 0, serving.log()
    found = lines_about_errors(serving.log())
    assert len(found) < 10, found[:10]
    assert not any("Traceback" in line for line in found)


def test_invalid_requests_are_logged_a_few_times(serving: Process, subtests: pytest.Subtests) -> None:
    """Anybody can send them, without a key."""
    url = serving.url()
    upgrade = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade, close\r\nUpgrade: h2c\r\n\r\n"
    for message, request in {"Invalid HTTP request": b"\x00\r\n\r\n", "Unsupported upgrade": upgrade}.items():
        with subtests.test(message):
            for _ in range(REPEATED_MAX * 5):
                with connect(url) as connection:
                    connection.sendall(request)
                    connection.recv(100)
            assert serving.log().count(message) == REPEATED_MAX
    assert is_alive(url)
