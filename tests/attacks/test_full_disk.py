"""A full or read-only disk: 507 instead of 500, `/readyz` says no, nothing is half-written, and it ends.

The disk is a small tmpfs, which only root may mount. Elsewhere these tests are skipped.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest

from mnemic import Memory
from mnemic.db.disk import check_data_folder
from mnemic.db.embedded import stop
from mnemic.db.translate import translate
from mnemic.errors import DatabaseReadOnlyError, DiskFullError
from tests.attacks.http_server import LINES, attacked_server, new_key
from tests.server.running import RunningServer
from tests.server.test_authentication import is_problem
from tests.waiting import wait_until

DISK_BYTES = 320 * 1024**2
SPOOL_BYTES = 4 * 1024**2
ROUND = 1 << 20
CONTENT = "Alice drinks tea." * 200


@contextmanager
def small_disk(size_bytes: int) -> Iterator[Path]:
    """A disk of this size; skips the test if none can be mounted."""
    folder = Path(tempfile.mkdtemp(prefix="mnemic-disk-"))
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes},mode=755", "mnemic-test", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        folder.rmdir()
        pytest.skip(f"a small disk needs the right to mount a tmpfs: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


@pytest.fixture(scope="module")
def disk() -> Iterator[Path]:
    """A small disk with a data folder, whose server is stopped at the end."""
    with small_disk(DISK_BYTES) as folder:
        yield folder
        stop(folder / "data")


@pytest.fixture(scope="module")
def server(disk: Path) -> Iterator[RunningServer]:
    with attacked_server(disk / "data") as server:
        yield server


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """The disk while nothing more fits on it."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (ROUND, 4096):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass
    try:
        yield
    finally:
        filler.unlink()


def is_ready(server: RunningServer) -> bool:
    with server.client() as client:
        return client.get("/readyz").status_code == 200


def text() -> str:
    return f"{uuid4()} {CONTENT}"


def retain_until_refused(client: httpx.Client) -> tuple[set[str], httpx.Response]:
    """Retain long texts until one is refused; returns those that were acknowledged, and the refusal."""
    acknowledged = set[str]()
    while True:
        content = text()
        answer = client.post("/v1/memories", json={"content": content})
        if answer.status_code != 200:
            return acknowledged, answer
        acknowledged.add(content)


def retain_forever(memory: Memory) -> None:
    while True:
        memory.retain(text())


def test_a_full_disk_is_507_and_not_ready(server: RunningServer, disk: Path) -> None:
    with server.client(new_key(server, owner="alice").key) as client:
        client.post("/v1/memories", json={"content": "Before."}).raise_for_status()
        assert is_ready(server)
        with filled(disk):
            acknowledged, answer = retain_until_refused(client)
            assert is_problem(answer, 507, "DiskFullError")
            assert "disk" in answer.json()["detail"]
            assert str(disk) not in answer.text
            lines = b"".join(f'"{text()}"\n'.encode() for _ in range(300))
            batch = client.post("/v1/memories/batch", content=lines, headers=LINES)
            assert is_problem(batch, 507, "DiskFullError")
            wait_until(lambda: not is_ready(server), what="the server to notice")
            refused = client.get("/readyz")
            assert is_problem(refused, 503, "DiskFullError")
            assert refused.headers["retry-after"]
            assert client.get("/healthz").status_code == 200
            assert client.get("/v1/memories").status_code == 200, "reading goes on"
        wait_until(lambda: is_ready(server), what="the server to notice that there is room")
        stored = {memory["content"] for memory in client.get("/v1/memories?limit=1000").json()}
        assert stored == acknowledged | {"Before."}
        client.post("/v1/memories", json={"content": "After."}).raise_for_status()


def test_a_full_disk_is_the_same_error_over_all_transports(
    server: RunningServer, disk: Path, subtests: pytest.Subtests
) -> None:
    key = new_key(server, owner="alice").key
    remote = Memory(server.url, api_key=key, owner="alice")
    embedded = Memory(data_dir=disk / "data", embedder="test", owner="alice")
    for name, opened in {"HTTP": remote, "this process": embedded}.items():
        with subtests.test(name), opened as memory:
            memory.retain("Before.")
            with filled(disk), pytest.raises(DiskFullError, match="Nothing was written"):
                retain_forever(memory)
            memory.retain("After.")


def test_a_read_only_disk_is_recognised() -> None:
    """Only with an empty folder and errors of PostgreSQL: a disk in use cannot be remounted by a test."""
    with small_disk(SPOOL_BYTES) as folder:
        check_data_folder(folder, min_free_bytes=0)
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        with pytest.raises(DatabaseReadOnlyError, match="read-only"):
            check_data_folder(folder, min_free_bytes=0)
    for refused in (
        psycopg.errors.InsufficientPrivilege('could not create file "base/1": Read-only file system'),
        psycopg.errors.ReadOnlySqlTransaction("cannot execute INSERT in a read-only transaction"),
    ):
        assert isinstance(translate(refused), DatabaseReadOnlyError)


def test_a_full_disk_for_temporary_files_is_507(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The body of a batch waits in a temporary file until it is complete."""
    with small_disk(SPOOL_BYTES) as folder, server.client(new_key(server, owner="alice").key) as client:
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        lines = b"".join(f'"{text()}"\n'.encode() for _ in range(1500))
        answer = client.post("/v1/memories/batch", content=lines, headers=LINES)
        assert is_problem(answer, 507, "DiskFullError")
        assert "temporary files" in answer.json()["detail"]
        assert client.get("/v1/memories").json() == []
        assert os.listdir(folder) == []
