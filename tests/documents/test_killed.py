"""A process that is killed while it ingests: another one goes on, and there are no doubles."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from mnemic import Memory
from mnemic.config import load_settings
from mnemic.documents.reading.chunks import chunks_of
from mnemic.documents.reading.source import read_source
from mnemic.errors import NotFoundError
from tests.documents.texts import paragraphs
from tests.running_folder import running
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
# A process may be done before this one sees its first chunks.
KILLS_MAX = 5
SLOW = pytest.mark.skipif("SLOW_TESTS" not in os.environ, reason="takes a minute: make test-slow")


@pytest.fixture(scope="module")
def folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "ingesting")


@pytest.mark.parametrize("size", [500_000, pytest.param(5_000_000, marks=SLOW)])
def test_a_document_whose_process_was_killed_is_ingested_without_doubles(
    folder: Path, tmp_path: Path, size: int
) -> None:
    text = "\n\n".join(paragraphs(size))
    file = tmp_path / "long.txt"
    file.write_text(text)
    wanted = Counter(chunk.content for chunk in chunks_of(read_source(text, "text/plain")))
    tenant = _tenant_with_a_part(folder, file, whole_count=len(wanted))
    with Memory(data_dir=folder, tenant=tenant, owner="alice", embedder="test") as memory:
        # It is filed already: this waits for the job, which the queue gives to this process now.
        done = memory.documents.ingest_file(file, wait=True)
        assert (done.is_complete, done.chunk_count) == (True, len(wanted))
        assert memory.admin.stats().memory_count == len(wanted)
        assert memory.admin.stats().awaiting_embedding_count == 0
        assert Counter(_contents(memory)) == wanted
        assert done.job_id is not None
        outcomes = [attempt.outcome for attempt in memory.jobs.status(done.job_id).history]
        assert outcomes == ["crashed", "done"]


def _tenant_with_a_part(folder: Path, file: Path, *, whole_count: int) -> str:
    """A tenant in which a killed process has stored some of the chunks."""
    # Without a worker, so that the job is left to the process that is killed.
    idle = load_settings(worker=False)
    for _ in range(KILLS_MAX):
        tenant = f"tenant {uuid4()}"
        with Memory(data_dir=folder, tenant=tenant, owner="alice", embedder="test", settings=idle) as memory:
            killed_at = _kill_half_way(memory, folder, tenant, file)
        assert killed_at > 0
        if killed_at < whole_count:
            return tenant
    raise AssertionError(f"each of {KILLS_MAX} processes ended before it was killed")


def _kill_half_way(memory: Memory, folder: Path, tenant: str, file: Path) -> int:
    """Let a process ingest the file until some chunks are there, and kill it; returns how many there are."""
    command = [sys.executable, "-m", "tests.documents.ingesting_process", str(folder), tenant, str(file)]
    child = subprocess.Popen(command, cwd=ROOT)
    try:
        wait_until(lambda: _chunk_count(memory, file.name) > 0, timeout_s=60, what="the first chunks")
    finally:
        child.kill()
        child.wait()
    return _chunk_count(memory, file.name)


def _chunk_count(memory: Memory, name: str) -> int:
    try:
        return memory.documents.status(name).chunk_count
    except NotFoundError:
        return 0


def _contents(memory: Memory) -> Iterator[str]:
    before = None
    while page := memory.memories.list(before=before, limit=500):
        yield from (record.content for record in page)
        before = page[-1].memory_id
