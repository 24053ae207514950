"""Backup and restore on the embedded server: one consistent moment, taken while others work."""

import asyncio
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from mnemic.backup.restore import restore_storage
from mnemic.config import Settings
from mnemic.db.access import DATABASE_NAME
from mnemic.db.connection import Limits
from mnemic.db.database_swap import swap_in
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.errors import ConflictError, DatabaseError, InvalidInputError, MnemicError, NotFoundError
from mnemic.maintenance.doctor import diagnose
from mnemic.sdk.memory import AsyncMemory
from tests.backup.everything import fill
from tests.fresh_tenants import Rows, contents
from tests.unsteady_engine import Unsteady
from tests.waiting import wait_for

DROP_LOG_PARTITIONS = """
    DO $$
    DECLARE day regclass;
    BEGIN
        FOR day IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'traces.memory_log'::regclass LOOP
            EXECUTE format('DROP TABLE %s', day);
        END LOOP;
    END $$
"""
DATABASES = "SELECT datname FROM pg_database WHERE NOT datistemplate ORDER BY 1"


def memory_in(folder: Path, tenant: str = "default", **options: Any) -> AsyncMemory:
    """A memory without a worker, which would change rows while they are compared."""
    chosen = {"embedder": "test", "settings": Settings(worker=False), **options}
    return AsyncMemory(data_dir=folder, tenant=tenant, owner="alice", **chosen)


@contextmanager
def looking_into(folder: Path, dbname: str = DATABASE_NAME) -> Iterator[Rows]:
    """The rows of a data folder, as its superuser sees them."""
    with EmbeddedServer.start(folder) as server:
        conninfo = server.conninfo(user=ADMIN_ROLE, dbname=dbname)
        with psycopg.connect(conninfo, autocommit=True) as connection:
            yield Rows(connection)


def all_rows(folder: Path, tenant_name: str) -> dict[str, list[str]]:
    """Every row of a tenant in every table, as text, but for the audit log: it tells of both."""
    with looking_into(folder) as rows:
        tenant_id = rows.value("SELECT tenant_id FROM state.tenants WHERE name = %s", tenant_name)
        return {
            table: sorted(
                str(row)
                for (row,) in rows.select(f"SELECT t::text FROM {table} AS t WHERE tenant_id = %s", tenant_id)
            )
            for table in rows.counts(tenant_id)  # type: ignore[arg-type]
            if table != "traces.audit_log"
        }


@pytest.fixture
def tenant() -> str:
    return f"tenant {uuid4()}"


async def test_a_backup_taken_while_others_write_gives_the_same_rows_elsewhere(
    backed_up_folder: Path, memory_dir: Path, tmp_path: Path, tenant: str
) -> None:
    engine = Unsteady()
    busy = f"busy {tenant}"
    elsewhere = memory_dir / f"new {uuid4()}"
    async with (
        memory_in(backed_up_folder, tenant, embedder=engine) as memory,
        memory_in(backed_up_folder, busy) as writer,
    ):
        await fill(memory, "alice", "tea", engine)
        done = asyncio.Event()

        async def write_on() -> None:
            number = 0
            while not done.is_set() or number < 3:
                await writer.retain([f"{number} a", f"{number} b"], conversation="c")
                number += 1

        writing = asyncio.create_task(write_on())
        backup = await memory.admin.backup(tmp_path / "backup")
        done.set()
        await writing
    assert backup.size_bytes == (tmp_path / "backup").stat().st_size > 1000
    await restore_storage(Settings(data_dir=elsewhere), tmp_path / "backup", replace=False)
    assert all_rows(elsewhere, tenant) == all_rows(backed_up_folder, tenant)
    async with memory_in(elsewhere, busy) as restored:
        turns = contents(await restored.conversations.turns("c"))
        assert turns == [f"{number} {letter}" for number in range(len(turns) // 2) for letter in "ab"]
        await restored.retain("goes on", conversation="c")
        assert (await restored.conversations.turns("c"))[-1].position == len(turns)
    await check_that_it_works(elsewhere, tenant)


async def check_that_it_works(folder: Path, tenant: str) -> None:
    """A restored place can do all that needs the roles: new models, new days, erasing, importing."""
    report = await diagnose(Settings(data_dir=folder, tenant=tenant))
    assert report.healthy, report
    async with memory_in(folder, tenant, embedder=Unsteady(40, name=f"test:{uuid4()}")) as memory:
        (memory_id,) = (await memory.retain("A new fact.")).memory_ids
        await memory.memories.update(memory_id, content="A newer fact.")
        assert contents(await memory.memories.history(memory_id)) == ["A new fact.", "A newer fact."]
        with looking_into(folder) as rows:
            rows.run(DROP_LOG_PARTITIONS)
        await memory.retain("On a new day.")
        assert (await memory.admin.erase("alice")).rows["state.memories"] > 1


async def test_what_is_there_is_replaced_only_on_request(
    backed_up_folder: Path, restored_folder: Path, tmp_path: Path, tenant: str
) -> None:
    async with memory_in(backed_up_folder, tenant) as memory:
        await memory.retain("From the backup.")
        await memory.admin.backup(tmp_path / "backup")
    async with memory_in(restored_folder, tenant) as memory:
        await memory.retain("There before.")
        with pytest.raises(ConflictError, match="already"):
            await memory.admin.restore(tmp_path / "backup")
        assert contents(await memory.memories.list()) == ["There before."]
        view = memory.scope(channel="view")
        await memory.admin.restore(tmp_path / "backup", replace=True)
        assert contents(await memory.memories.list()) == ["From the backup."]
        assert contents(await view.memories.list()) == ["From the backup."]
        await memory.retain("After it.")
    with looking_into(restored_folder) as rows:
        assert rows.select(DATABASES) == [(DATABASE_NAME,), ("postgres",)]


async def test_others_who_use_the_place_go_on_with_what_was_restored(
    restored_folder: Path, tmp_path: Path, tenant: str
) -> None:
    async with memory_in(restored_folder, tenant) as memory, memory_in(restored_folder, tenant) as other:
        await memory.retain("In the backup.")
        await memory.admin.backup(tmp_path / "backup")
        await other.retain("After the backup.")
        await memory.admin.restore(tmp_path / "backup", replace=True)
        assert contents(await other.memories.list()) == ["In the backup."]
        await other.retain("And on.")


@pytest.mark.parametrize(
    "junk", [b"", b"hello", b"PGDMP", b"PGDMP" + bytes(1000), None], ids=lambda junk: str(junk)[:12]
)
async def test_a_file_that_is_no_backup_leaves_everything_as_it_is(
    restored_folder: Path, tmp_path: Path, tenant: str, junk: bytes | None
) -> None:
    if junk is not None:
        (tmp_path / "backup").write_bytes(junk)
    async with memory_in(restored_folder, tenant) as memory:
        await memory.retain("Still here.")
        with pytest.raises((InvalidInputError, NotFoundError, DatabaseError)) as caught:
            await memory.admin.restore(tmp_path / "backup", replace=True)
        assert str(tmp_path) in str(caught.value) or "pg_restore" in str(caught.value)
        assert contents(await memory.memories.list()) == ["Still here."]
    with looking_into(restored_folder) as rows:
        assert rows.select(DATABASES) == [(DATABASE_NAME,), ("postgres",)]


@pytest.mark.parametrize("part", [0.3, 0.9])
async def test_a_backup_that_was_cut_off_leaves_everything_as_it_is(
    restored_folder: Path, tmp_path: Path, tenant: str, part: float
) -> None:
    async with memory_in(restored_folder, tenant) as memory:
        await memory.retain([f"fact {number}" for number in range(500)])
        await memory.admin.backup(tmp_path / "backup")
        whole = (tmp_path / "backup").read_bytes()
        (tmp_path / "cut").write_bytes(whole[: int(len(whole) * part)])
        before = (await memory.admin.stats()).memory_count
        with pytest.raises(DatabaseError, match="pg_restore failed"):
            await memory.admin.restore(tmp_path / "cut", replace=True)
        assert (await memory.admin.stats()).memory_count == before
    with looking_into(restored_folder) as rows:
        assert rows.select(DATABASES) == [(DATABASE_NAME,), ("postgres",)]


async def test_what_cannot_take_the_place_leaves_what_is_there(restored_folder: Path, tenant: str) -> None:
    async with memory_in(restored_folder, tenant) as memory:
        await memory.retain("Still here.")
        with EmbeddedServer.start(restored_folder) as server:
            conninfo = server.conninfo(user=ADMIN_ROLE, dbname="postgres")
            with pytest.raises(MnemicError):
                await swap_in(conninfo, "never_made", DATABASE_NAME, Limits(), replace=True)
        assert contents(await memory.memories.list()) == ["Still here."]


async def test_a_backup_is_private_and_never_overwrites(
    backed_up_folder: Path, tmp_path: Path, tenant: str
) -> None:
    path = tmp_path / "backup"
    async with memory_in(backed_up_folder, tenant) as memory:
        await memory.admin.backup(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        old = path.read_bytes()
        with pytest.raises(ConflictError, match="exists already"):
            await memory.admin.backup(path)
        assert path.read_bytes() == old
        await memory.retain("One more.")
        await memory.admin.backup(path, replace=True)
        assert path.read_bytes() != old
        with pytest.raises(NotFoundError, match="cannot be written"):
            await memory.admin.backup(tmp_path / "missing" / "backup")
    assert names_in(tmp_path) == ["backup"]


async def test_a_backup_that_is_cancelled_leaves_no_file(
    backed_up_folder: Path, tmp_path: Path, tenant: str
) -> None:
    async with memory_in(backed_up_folder, tenant) as memory:
        task = asyncio.create_task(memory.admin.backup(tmp_path / "backup"))
        await wait_for(lambda: bool(names_in(tmp_path)), what="the backup to begin")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert names_in(tmp_path) == []


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]
