"""A full or read-only disk: 507 instead of 500, `/readyz` says no, nothing is half-written, and it ends.

The disk is a small tmpfs, which only root may mount. Elsewhere these tests are skipped.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


def admin_of(server: RunningServer) -> psycopg.Connection[tuple[object, ...]]:
    place = server.tenants._host.storage.server
    assert place is not None
    return psycopg.connect(place.conninfo(user="mnemic", dbname="mnemic"), autocommit=True)


@contextmanager
def filled(server: RunningServer, disk: Path) -> Iterator[None]:
    """The disk while nothing more fits on it, except in a new file of the write-ahead log."""
    with admin_of(server) as admin:
        admin.execute("SELECT pg_switch_wal()")
        admin.execute("SELECT pg_logical_emit_message(true, 'test', 'begins the new file')")
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
        with filled(server, disk):
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


@pytest.mark.skipif(
    "SLOW_TESTS" not in os.environ, reason="make test-slow: waits 10 s for a connection, then for a restart"
)
def test_a_database_that_a_full_disk_stopped_is_507_and_starts_again(
    server: RunningServer, disk: Path
) -> None:
    """PostgreSQL stops when it cannot create the next file of its write-ahead log."""
    with server.client(new_key(server, owner="alice").key) as client:
        client.post("/v1/memories", json={"content": "Before."}).raise_for_status()
        with filled(server, disk):
            with suppress(psycopg.Error), admin_of(server) as admin:
                admin.execute("SELECT pg_switch_wal()")
                admin.execute("SELECT pg_logical_emit_message(true, 'test', 'needs a new file')")
            answer = client.post("/v1/memories", json={"content": "Refused."})
            assert is_problem(answer, 507, "DiskFullError")
            assert "has stopped" in answer.json()["detail"]
            assert is_problem(client.get("/readyz"), 503, "DiskFullError")
        wait_until(lambda: is_ready(server), what="the database to start again")
        client.post("/v1/memories", json={"content": "After."}).raise_for_status()
        stored = {memory["content"] for memory in client.get("/v1/memories").json()}
        assert stored - {"Refused."} == {"Before.", "After."}


def test_a_full_disk_is_the_same_error_over_all_transports(
    server: RunningServer, disk: Path, subtests: pytest.Subtests
) -> None:
    key = new_key(server, owner="alice").key
    remote = Memory(server.url, api_key=key, owner="alice")
    embedded = Memory(data_dir=disk / "data", embedder="test", owner="alice")
    for name, opened in {"HTTP": remote, "this process": embedded}.items():
        with subtests.test(name), opened as memory:
            memory.retain("Before.")
            with filled(server, disk), pytest.raises(DiskFullError, match="Nothing was written"):
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
