"""`mnemic ui`: a one-time link, for a server that it starts or for one that runs already."""

import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import httpx
import pytest

from mnemic import Memory
from mnemic.server.browser_sessions import COOKIE
from tests.running_folder import running
from tests.server.running import TLS
from tests.warm_start.starting import WarmStart

TIMEOUT_S = 120.0


@pytest.fixture(scope="module")
def folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "opened by a link")


def start(program: str, folder: Path, *options: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "MNEMIC_DATA_DIR": str(folder), "MNEMIC_EMBEDDER": "test"}
    command = [program, "ui", "--no-open", *options]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def link_of(process: subprocess.Popen[str]) -> str:
    """The link that it prints first."""
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/ui/sign-in\?link=ml_[\w-]{43}", line), line
    return line


def test_it_serves_and_its_session_ends_with_it(folder: Path, warm_start: WarmStart) -> None:
    with start(warm_start.mnemic, folder, "--port", "0") as process:
        link = link_of(process)
        with httpx.Client(timeout=TIMEOUT_S, verify=TLS) as browser:
            assert browser.get(link).status_code == 303
            base, _, _ = link.partition("/ui/")
            assert browser.get(f"{base}/ui/keys").status_code == 200
            assert browser.get(link).status_code == 401
            second_link = check_second_command(warm_start.mnemic, folder, base)
            assert browser.get(second_link).status_code == 303
            assert any(name.startswith(COOKIE) for name in browser.cookies)
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 0
    with Memory(data_dir=folder, embedder="test") as memory:
        second, first = memory.keys.list(include_ended=True)
    assert (first.name, first.role) == ("mnemic ui", "admin")
    assert first.revoked_at is not None, "it ends with the server that it was made for"
    assert second.revoked_at is None
    assert second.expires_at is not None


def check_second_command(program: str, folder: Path, base: str) -> str:
    """A second command finds the server and ends at once; returns its link."""
    with start(program, folder, "--port", base.rpartition(":")[2]) as process:
        link = link_of(process)
        assert process.wait(TIMEOUT_S) == 0
    assert link.startswith(base)
    return link


def test_no_link_is_sent_to_a_program_that_cannot_prove_that_it_serves_this_place(
    folder: Path, warm_start: WarmStart
) -> None:
    """It answers, even by what it was asked; the command neither prints nor sends a link."""
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        answering = Thread(target=answer_all, args=(listening, received), daemon=True)
        answering.start()
        port = str(listening.getsockname()[1])
        with start(warm_start.mnemic, folder, "--port", port) as process:
            printed, _ = process.communicate(timeout=TIMEOUT_S)
            assert process.returncode == 1
    assert "ml_" not in printed
    assert received
    assert all(b"ml_" not in each for each in received)
    with Memory(data_dir=folder, embedder="test") as memory:
        newest = memory.keys.list(include_ended=True, limit=1)[0]
    assert newest.revoked_at is not None


def answer_all(listening: socket.socket, received: list[bytes]) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection:
            received.append(connection.recv(65536))
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n" + b"0" * 64)
