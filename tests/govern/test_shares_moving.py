"""Grants when their owners are erased or moved, and in a backup."""

import json
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from mnemic.backup.dump import back_up, restore_into
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.share import Grant
from tests.accepted_grants import accepted_grant
from tests.backup.test_erase import where_it_is
from tests.conftest import LIMITS, AppConnection
from tests.fresh_tenants import Rows


@pytest.fixture
def own_database() -> bool:
    """Yes: the tests look at a whole database."""
    return True


async def all_grants(memory: AsyncMemory, owner: str = "alice") -> list[Grant]:
    return list(await memory.shares.list(given=True, received=True, include_ended=True, owner=owner))


async def share_and_revoke(memory: AsyncMemory, giver: str, reader: str) -> None:
    """An active grant and a revoked one, both with the reader's name in the words beside it."""
    await accepted_grant(memory, reader, reason=f"for {reader}", owner=giver)
    grant = await accepted_grant(memory, reader, reason=f"also for {reader}", owner=giver)
    await memory.shares.revoke(grant.grant_id, reason=f"not for {reader}", owner=giver)


@pytest.mark.parametrize("side", ["giver", "reader"])
async def test_erasing_either_owner_leaves_nothing_of_him_and_takes_no_grant_of_others(
    memory: AsyncMemory, foreign_memory: AsyncMemory, admin: AppConnection, side: str
) -> None:
    name, rows = f"qz{uuid4().hex[:10]}", Rows(admin)
    giver, reader = (name, "alice") if side == "giver" else ("alice", name)
    await share_and_revoke(memory, giver, reader)
    await share_and_revoke(memory, "alice", "bob")
    kept = await all_grants(memory, "bob")
    assert "state.grants" in where_it_is(rows, name)
    await share_and_revoke(foreign_memory, giver, reader)

    receipt = await memory.admin.erase(name)

    assert receipt.rows["state.grants"] == 2
    assert await all_grants(memory) == await all_grants(memory, "bob") == kept
    assert len(await all_grants(foreign_memory)) == 2
    await foreign_memory.admin.erase(name)
    assert where_it_is(rows, name) == {}


async def test_a_reader_who_begins_anew_after_erasure_may_read_nothing(memory: AsyncMemory) -> None:
    await accepted_grant(memory, "bob")
    await memory.admin.erase("bob")
    assert await memory.shares.list(given=False, received=True, owner="bob") == []


async def test_an_export_holds_the_grants_that_its_owner_gave(memory: AsyncMemory, tmp_path: Path) -> None:
    given = await memory.shares.grant("bob")
    await memory.shares.grant("alice", owner="bob", reason="hers to read, his to give")
    counts = await memory.admin.export(tmp_path / "alice")
    lines = [json.loads(line) for line in (tmp_path / "alice").read_text("utf-8").splitlines()[1:]]
    grants = [line["row"] for line in lines if line["table"] == "state.grants"]
    assert counts["state.grants"] == len(grants) == 1
    assert (grants[0]["grant_id"], grants[0]["granted_to"]) == (str(given.grant_id), "bob")


async def test_an_import_brings_grants_as_history_and_opens_nothing(
    memory: AsyncMemory, foreign_memory: AsyncMemory, tmp_path: Path
) -> None:
    active = await accepted_grant(memory, "bob", tags=["food"], reason="a trip")
    ended = await memory.shares.grant("carol")
    ended = await memory.shares.revoke(ended.grant_id, reason="over")
    await memory.admin.export(tmp_path / "file")
    imported = await foreign_memory.admin.import_(tmp_path / "file", embed=False)
    assert imported.rows["state.grants"] == 2
    assert await foreign_memory.shares.list() == []
    assert await foreign_memory.shares.list(given=False, received=True, owner="bob") == []
    came_ended, came_active = await all_grants(foreign_memory)
    assert came_ended == ended
    assert (came_active.grant_id, came_active.tags, came_active.reason, came_active.created_at) == (
        active.grant_id,
        ("food",),
        "a trip",
        active.created_at,
    )
    assert came_active.revoking_reason == "imported"
    assert came_active.revoked_at is not None


async def test_an_import_into_the_same_place_leaves_grants_as_they_are(
    memory: AsyncMemory, tmp_path: Path
) -> None:
    """It neither ends what is active nor revives what was revoked since the export."""
    await accepted_grant(memory, "bob")
    revoked = await memory.shares.grant("carol")
    await memory.admin.export(tmp_path / "file")
    await memory.shares.revoke(revoked.grant_id)
    before = await all_grants(memory)
    imported = await memory.admin.import_(tmp_path / "file", embed=False)
    assert imported.row_count == 0
    assert await all_grants(memory) == before
    assert [grant.granted_to for grant in await memory.shares.list()] == ["bob"]


async def test_a_backup_keeps_grants_as_they_were(
    memory: AsyncMemory, admin: AppConnection, admin_conninfo: str, empty_conninfo: str, tmp_path: Path
) -> None:
    await share_and_revoke(memory, "alice", "bob")
    everything = "SELECT * FROM state.grants ORDER BY grant_id"
    before = admin.execute(everything).fetchall()
    await back_up(admin_conninfo, tmp_path / "backup")
    await restore_into(empty_conninfo, tmp_path / "backup", LIMITS)
    with psycopg.connect(empty_conninfo) as restored:
        assert restored.execute(everything).fetchall() == before
        assert restored.execute("SELECT FROM state.grants WHERE revoked_at IS NULL").rowcount == 1
        with pytest.raises(psycopg.errors.CheckViolation, match="stays as it is"):
            restored.execute("UPDATE state.grants SET revoked_at = NULL")
