"""Export, import, backup and restore are in the audit log: before and after, with counts, without text."""

import asyncio
import json
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import uuid4

import pytest

from mnemic.backup.restore import restore_storage
from mnemic.config import Settings
from mnemic.errors import ConflictError, DatabaseError, InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.scope import Scope
from mnemic.types.traces import AuditRecord
from tests.fresh_tenants import OpenMemory, contents
from tests.running_folder import running
from tests.warm_start.starting import WarmStart

ROOT = Path(__file__).resolve().parents[2]
KILL_TIMEOUT_S = 300
SECRET = "xylophone"


def memory_in(folder: Path, tenant: str, embedder: str = "test") -> AsyncMemory:
    settings = Settings(worker=False)
    return AsyncMemory(data_dir=folder, tenant=tenant, owner="alice", embedder=embedder, settings=settings)


async def acts(memory: AsyncMemory, action: str | None = None) -> Sequence[AuditRecord]:
    """What the tenant's log holds, of all owners and of nobody, newest first."""
    view = memory._in_scope(Scope(None, "_global", "tests"))
    return await view.audit.list(action=action)


async def pair(memory: AsyncMemory, action: str) -> tuple[AuditRecord, AuditRecord]:
    """The intent and the outcome of the only act of a kind, without anything that was stored."""
    found = await acts(memory, action)
    assert SECRET not in str(found)
    outcome, intent = found
    assert (intent.phase, outcome.intent_id, outcome.target) == ("intent", intent.audit_id, intent.target)
    return intent, outcome


@pytest.fixture(scope="module")
def killed_folder(memory_dir: Path) -> Iterator[Path]:
    """A data folder of its own: what is killed may leave databases behind."""
    yield from running(memory_dir / "killed")


@pytest.fixture
def tenant() -> str:
    return f"tenant {uuid4()}"


async def test_an_export_is_told_by_file_and_rows(memory: AsyncMemory, tmp_path: Path) -> None:
    await memory.retain(f"Alice plays the {SECRET}.")
    rows = await memory.admin.export(tmp_path / "file")
    intent, outcome = await pair(memory, "export_owner")
    assert (intent.owner, intent.process, intent.target) == ("alice", "sdk", str(tmp_path / "file"))
    assert (outcome.phase, outcome.detail) == ("succeeded", {"rows": rows})
    assert rows["state.memories"] == 1


async def test_an_export_that_fails_says_so_by_the_kind_of_error(memory: AsyncMemory, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConflictError):
        await memory.admin.export(tmp_path / "file")
    _, outcome = await pair(memory, "export_owner")
    assert (outcome.phase, outcome.detail) == ("failed", {"error": "ConflictError"})


async def test_a_path_too_long_for_the_log_is_told_by_its_end(memory: AsyncMemory, tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*(["x" * 200] * 6))
    folder.mkdir(parents=True)
    await memory.admin.export(folder / "file")
    intent, _ = await pair(memory, "export_owner")
    assert len(intent.target) == 1024
    assert intent.target.endswith("/file")


async def test_an_import_is_told_as_the_owners_whom_the_file_names(
    memory: AsyncMemory, open_memory: OpenMemory, tmp_path: Path
) -> None:
    await memory.retain(f"Alice plays the {SECRET}.")
    await memory.admin.export(tmp_path / "file")
    elsewhere = await open_memory(owner=None)
    imported = await elsewhere.admin.import_(tmp_path / "file")
    intent, outcome = await pair(elsewhere, "import_owner")
    assert (intent.owner, intent.target) == ("alice", str(tmp_path / "file"))
    assert (outcome.phase, outcome.detail) == ("succeeded", {"rows": imported.rows})
    await elsewhere.admin.erase("alice")
    assert await acts(elsewhere, "import_owner") == []


async def test_an_import_that_fails_says_so_by_the_kind_of_error(
    memory: AsyncMemory, open_memory: OpenMemory, tmp_path: Path
) -> None:
    await memory.retain(f"Alice plays the {SECRET}.")
    await memory.admin.export(tmp_path / "file")
    elsewhere = await open_memory()
    await elsewhere.retain(f"Alice plays the {SECRET}.")
    with pytest.raises(ConflictError):
        await elsewhere.admin.import_(tmp_path / "file")
    _, outcome = await pair(elsewhere, "import_owner")
    assert (outcome.phase, outcome.detail) == ("failed", {"error": "ConflictError"})


@pytest.mark.parametrize("owner", [None, "", 5])
async def test_a_file_that_says_not_whose_it_is_is_turned_away_before(
    memory: AsyncMemory, tmp_path: Path, owner: object
) -> None:
    (tmp_path / "file").write_text(json.dumps({"format": "mnemic-export", "version": 1, "owner": owner}))
    with pytest.raises(InvalidInputError, match="owner in the first line"):
        await memory.admin.import_(tmp_path / "file")
    assert await acts(memory) == []


async def test_a_backup_is_nobodys_and_told_by_its_size(
    backed_up_folder: Path, tmp_path: Path, tenant: str
) -> None:
    async with memory_in(backed_up_folder, tenant) as memory:
        await memory.retain(f"Alice plays the {SECRET}.")
        backup = await memory.admin.backup(tmp_path / "backup")
        intent, outcome = await pair(memory, "backup")
        assert (intent.owner, intent.process, intent.target) == (None, "sdk", str(backup.path))
        assert (outcome.phase, outcome.detail) == ("succeeded", {"size_bytes": backup.size_bytes})


async def test_a_backup_that_fails_says_so(backed_up_folder: Path, tmp_path: Path, tenant: str) -> None:
    (tmp_path / "backup").touch()
    async with memory_in(backed_up_folder, tenant) as memory:
        with pytest.raises(ConflictError):
            await memory.admin.backup(tmp_path / "backup")
        _, outcome = await pair(memory, "backup")
    assert (outcome.phase, outcome.detail) == ("failed", {"error": "ConflictError"})


async def test_a_restore_is_told_in_what_was_restored(
    restored_folder: Path, tmp_path: Path, tenant: str
) -> None:
    async with memory_in(restored_folder, tenant) as memory:
        await memory.retain(f"Alice plays the {SECRET}.")
        backup = await memory.admin.backup(tmp_path / "backup")
        await memory.admin.restore(backup.path, replace=True)
        intent, outcome = await pair(memory, "restore")
        assert (intent.owner, intent.process, intent.target) == (None, "sdk", str(backup.path))
        assert intent.detail == {"size_bytes": backup.size_bytes}
        assert (outcome.phase, outcome.detail) == ("succeeded", {})
        assert contents(await memory.memories.list()) == [f"Alice plays the {SECRET}."]


async def test_a_restore_into_an_empty_place_is_told_there(
    backed_up_folder: Path, memory_dir: Path, tmp_path: Path, tenant: str
) -> None:
    async with memory_in(backed_up_folder, tenant) as memory:
        await memory.admin.backup(tmp_path / "backup")
    folder = memory_dir / f"new {uuid4()}"
    by = Scope(None, "_global", "cli")
    await restore_storage(Settings(data_dir=folder, tenant=tenant), tmp_path / "backup", replace=False, by=by)
    async with memory_in(folder, tenant) as memory:
        intent, outcome = await pair(memory, "restore")
        (unfinished,) = await memory._in_scope(by).audit.unfinished()
    assert (intent.process, outcome.phase) == ("cli", "succeeded")
    assert unfinished.action == "backup", "the backup does not hold its own outcome"


async def test_a_restore_that_fails_is_told_in_what_stays(
    restored_folder: Path, tmp_path: Path, tenant: str
) -> None:
    (tmp_path / "broken").write_bytes(b"PGDMP" + SECRET.encode() * 10)
    async with memory_in(restored_folder, tenant) as memory:
        with pytest.raises(DatabaseError):
            await memory.admin.restore(tmp_path / "broken", replace=True)
        _, outcome = await pair(memory, "restore")
    assert (outcome.phase, outcome.detail) == ("failed", {"error": "DatabaseError"})


async def test_a_restore_that_is_refused_is_no_act(
    restored_folder: Path, tmp_path: Path, tenant: str
) -> None:
    (tmp_path / "junk").write_bytes(b"junk")
    async with memory_in(restored_folder, tenant) as memory:
        await memory.admin.backup(tmp_path / "backup")
        with pytest.raises(ConflictError, match="already"):
            await memory.admin.restore(tmp_path / "backup")
        with pytest.raises(InvalidInputError):
            await memory.admin.restore(tmp_path / "junk", replace=True)
        assert await acts(memory, "restore") == []


@pytest.mark.parametrize(
    ("name", "action", "is_restored"),
    [
        ("export", "export_owner", False),
        ("import", "import_owner", False),
        ("backup", "backup", False),
        ("reembed", "change_model", False),
        ("restore", "restore", False),
        ("restored", "restore", True),
    ],
)
async def test_whoever_is_killed_leaves_the_intent_alone(
    warm_start: WarmStart,
    killed_folder: Path,
    tmp_path: Path,
    tenant: str,
    name: str,
    action: str,
    is_restored: bool,
) -> None:
    async with memory_in(killed_folder, tenant) as memory:
        await memory.retain(f"Alice plays the {SECRET}.")
        file = await given(memory, name, tmp_path)
        await memory.retain("Later.")
    await be_killed(warm_start, killed_folder, tenant, name, file)
    async with memory_in(killed_folder, tenant) as memory:
        assert [record.phase for record in await acts(memory, action)] == ["intent"]
        assert len(await memory.memories.list()) == (1 if is_restored else 2)


async def test_a_change_of_the_model_that_was_killed_is_ended_by_whoever_goes_on(
    warm_start: WarmStart, killed_folder: Path, tmp_path: Path, tenant: str
) -> None:
    async with memory_in(killed_folder, tenant) as memory:
        await memory.retain(f"Alice plays the {SECRET}.")
    await be_killed(warm_start, killed_folder, tenant, "reembed", tmp_path / "none")
    async with memory_in(killed_folder, tenant, "test:hash-72") as memory:
        assert (await memory.admin.reembed(wait=True)).model == "test:hash-72"
        _, outcome = await pair(memory, "change_model")
    assert (outcome.phase, outcome.detail) == ("succeeded", {"memory_count": 1})


async def given(memory: AsyncMemory, name: str, folder: Path) -> Path:
    """The file that an act works on: one that is there, or a new one."""
    if name == "import":
        await memory.admin.export(folder / "there")
    elif name.startswith("restore"):
        await memory.admin.backup(folder / "there")
    return folder / "there"


async def be_killed(warm_start: WarmStart, folder: Path, tenant: str, name: str, file: Path) -> None:
    command = warm_start.module("tests.backup.killed_in_an_act", str(folder), tenant, name, str(file))
    died = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, timeout=KILL_TIMEOUT_S, check=False)
    assert died.returncode == -signal.SIGKILL
