"""Changing the model of a memory in a data folder: indexes, the doctor, a process that is killed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from mnemic import Memory
from mnemic.config import Settings, load_settings
from mnemic.db.access import DATABASE_NAME
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.embeddings import indexes as indexing
from mnemic.embeddings import model_change as reembedding
from mnemic.embeddings.model_change import begin_change, complete_change, read_change
from mnemic.maintenance.doctor import diagnose
from mnemic.models.testing import HashedWords
from mnemic.retain.pipeline import retain_items
from mnemic.runtime.core import Caller, Core
from mnemic.runtime.models_in_use import Models
from mnemic.sdk.job_table import JOBS
from mnemic.types.scope import Scope
from tests.conftest import AppConnection
from tests.running_folder import running
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
SLOW = pytest.mark.skipif("SLOW_TESTS" not in os.environ, reason="takes half a minute: make test-slow")
INDEXES = """
    SELECT count(*) FROM pg_index
    JOIN pg_class ON pg_class.oid = indrelid JOIN mnemic.vector_models ON relname = table_name
    JOIN pg_class AS of_index ON of_index.oid = indexrelid
    WHERE model = %s AND starts_with(of_index.relname, 'hnsw_') AND indisvalid
"""


@pytest.fixture(scope="module")
def folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "changing")


@pytest.fixture
def admin(folder: Path) -> Iterator[AppConnection]:
    """The superuser's connection to the folder's database, which is made by opening it once."""
    Memory(data_dir=folder, embedder="test").close()
    with EmbeddedServer.start(folder) as server:
        conninfo = server.conninfo(user=ADMIN_ROLE, dbname=DATABASE_NAME)
        with psycopg.connect(conninfo, autocommit=True) as connection:
            yield connection


@pytest.fixture
def settings(folder: Path) -> Settings:
    return load_settings(data_dir=folder, tenant=f"tenant {uuid4()}", worker=False)


def fill(settings: Settings, embedder: str, count: int) -> None:
    with Memory(settings=settings, owner="alice", embedder=embedder) as memory:
        memory.retain_many(f"fact number {number}" for number in range(count))


async def found(settings: Settings, name: str) -> str:
    report = await diagnose(settings)
    (check,) = [check for check in report.checks if check.name == name]
    return f"{check.state}: {check.found} {check.advice}"


async def test_large_owners_are_indexed_before_the_switch_and_the_doctor_shows_progress(
    settings: Settings, admin: AppConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reembedding, "INDEX_MIN_ROWS", 200)
    monkeypatch.setattr(indexing, "INDEX_MIN_ROWS", 200)
    configured = settings.model_copy(update={"embedder": "test:hash-72"})
    assert "ok: nothing is embedded yet" in await found(configured, "embedding model")
    core = Core(settings, Models(settings, "test:hash-48"), JOBS)
    await core.open()
    try:
        await _retain(core, 300)
        told = await found(configured, "embedding model")
        assert "warning: test:hash-48, not the configured test:hash-72 `mnemic reembed` changes" in told
        changing = Core(configured, Models(configured, HashedWords(72)), JOBS)
        await changing.open()
        await begin_change(changing)
        told = await found(configured, "embedding model")
        assert "ok: test:hash-48; changing to test:hash-72: 0 of 300 memories" in told
        switch = reembedding._switch

        async def look_and_switch(*given: object, **options: object) -> None:
            assert admin.execute(INDEXES, ["test:hash-72"]).fetchone() == (1,)
            assert (await read_change(core.storage.tenant_database)).model == "test:hash-48"
            await switch(*given, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(reembedding, "_switch", look_and_switch)
        assert await complete_change(changing, "test:hash-72")
        await changing.aclose()
    finally:
        await core.aclose()
    assert "ok: test:hash-72" in await found(configured, "embedding model")
    assert "ok: none" in await found(configured, "embedding backlog")


async def _retain(core: Core, count: int) -> None:
    caller = Caller(core, Scope("alice", "_global", "test"))
    await retain_items(caller, [f"fact number {number}" for number in range(count)], {})


async def test_the_doctor_reports_memories_without_a_vector(settings: Settings, admin: AppConnection) -> None:
    fill(settings, "test", 3)
    tenant = admin.execute(
        "SELECT tenant_id FROM state.tenants WHERE name = %s", [settings.tenant]
    ).fetchone()
    assert tenant is not None
    mark = "INSERT INTO queue.embedding_backlog (tenant_id, memory_id, last_error, gave_up_at) SELECT"
    admin.execute(
        f"{mark} tenant_id, memory_id, 'x', now() FROM state.memories WHERE tenant_id = %s".encode(), tenant
    )
    assert "warning: 0 memories wait for a vector, 3 were refused" in await found(
        settings, "embedding backlog"
    )
    admin.execute("UPDATE queue.embedding_backlog SET gave_up_at = NULL WHERE tenant_id = %s", tenant)
    told = await found(settings, "embedding backlog")
    assert "warning: 3 memories wait for a vector, 0 were refused" in told
    assert "run `mnemic embed` now" in told


@SLOW
def test_a_change_resumes_in_another_process_after_a_kill(settings: Settings, admin: AppConnection) -> None:
    fill(settings, "test:hash-40", 8_000)
    command = [sys.executable, "-m", "tests.embeddings.changing_process", str(settings.data_dir)]
    child = subprocess.Popen([*command, settings.tenant, "test:hash-80"], cwd=ROOT)
    waiting = "SELECT count(*) FROM queue.reembedding"

    def half_way() -> bool:
        ((count,),) = admin.execute(waiting).fetchall()
        return 0 < int(str(count)) < 7_000

    try:
        wait_until(half_way, timeout_s=60, what="half of the memories")
    finally:
        child.kill()
        child.wait()
    with Memory(settings=settings, owner="alice", embedder="test:hash-80") as memory:
        assert next(iter(memory.recall("fact number 77"))).memory.content == "fact number 77"
        done = memory.admin.reembed(wait=True)
        assert (done.model, done.next_model, done.waiting_count) == ("test:hash-80", None, 0)
        assert next(iter(memory.recall("fact number 77"))).memory.content == "fact number 77"
    assert admin.execute("SELECT FROM mnemic.vector_models WHERE model = 'test:hash-40'").fetchall() == []
