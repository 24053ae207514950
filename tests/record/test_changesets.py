"""The change log: staged changes are invisible, applied ones are undone exactly, conflicts change nothing."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from mnemic.db.database import TenantDatabase
from mnemic.errors import ChangeConflictError, ConflictError, InvalidInputError, NotFoundError
from mnemic.record import changesets
from mnemic.record.changesets import MemoryChange
from mnemic.record.memories import VERSIONED_FIELDS
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import MemoryRecord
from tests.change_log import Log
from tests.fresh_tenants import Rows, tenant_database  # noqa: F401 (fixture)

LONG_TEXT = " ".join(f"Sentence {number} about the garden of the old castle." for number in range(600))


@pytest.fixture
def log(tenant_database: TenantDatabase) -> Log:  # noqa: F811 (fixture)
    return Log(tenant_database)


def archive(memory_id: UUID) -> MemoryChange:
    return MemoryChange(memory_id, "archive", {"status": "archived"}, "It is old.")


def supersede(old_id: UUID, new_id: UUID) -> list[MemoryChange]:
    return [
        MemoryChange(
            old_id, "supersede", {"status": "superseded", "superseded_by": new_id}, "There is a newer value."
        ),
        MemoryChange(new_id, "supersede", {}, "It is newer.", related_id=old_id, relationship="supersedes"),
    ]


def versioned(record: MemoryRecord) -> dict[str, Any]:
    return {field: getattr(record, field) for field in VERSIONED_FIELDS}


async def stored(memory: AsyncMemory, *contents: str) -> list[UUID]:
    return list((await memory.retain(list(contents))).memory_ids)


async def test_a_staged_change_is_invisible(memory: AsyncMemory, log: Log) -> None:
    (memory_id,) = await stored(memory, "Alice lives in Berlin.")
    before = await memory.memories.get(memory_id)
    await log.stage(archive(memory_id))
    assert await memory.memories.get(memory_id) == before
    assert len(await memory.memories.history(memory_id)) == 1
    assert [hit.memory.memory_id for hit in (await memory.recall("Where does Alice live?")).hits] == [
        memory_id
    ]


async def test_apply_and_undo_restore_exactly_what_was(memory: AsyncMemory, log: Log) -> None:
    old_id, new_id = await stored(memory, "Alice lives in Berlin.", "Alice lives in Rome.")
    before = await memory.memories.get(old_id)
    changeset_id = await log.stage_and_apply(*supersede(old_id, new_id), purpose="contradiction")
    after = await memory.memories.get(old_id)
    assert (after.status, after.superseded_by, after.changed_by) == (
        "superseded",
        new_id,
        "conflict_resolution",
    )
    assert [each.kind for each in await memory.memories.related(old_id)] == ["supersedes"]
    await log.undo(changeset_id)
    restored = await memory.memories.get(old_id)
    assert versioned(restored) == versioned(before)
    assert restored.change_reason == "Undone: There is a newer value."
    assert [each.version for each in await memory.memories.history(old_id)] == [1, 2, 3]
    assert await memory.memories.related(old_id) == []


async def test_a_change_without_fields_makes_no_version(memory: AsyncMemory, log: Log) -> None:
    first, second = await stored(memory, "one", "two")
    change = MemoryChange(first, "merge", {}, "alike", related_id=second, relationship="co_occurs")
    await log.stage_and_apply(change)
    assert (await memory.memories.get(first)).version == 1


async def test_applying_after_an_edit_is_a_conflict_that_names_the_memories(
    memory: AsyncMemory, log: Log
) -> None:
    first, second, third = await stored(memory, "one", "two", "three")
    changeset_id = await log.stage(archive(first), archive(second), archive(third))
    await memory.memories.update(first, tags=["kept"])
    await memory.memories.update(second, anchored=True)
    with pytest.raises(ChangeConflictError) as caught:
        await log.apply(changeset_id)
    assert len(caught.value.conflicts) == 2
    assert f"{first} was changed after the change was proposed (tags)" in str(caught.value)
    assert f"{second} was changed after the change was proposed (anchored)" in str(caught.value)
    assert (await memory.memories.get(third)).status == "active"


async def test_undoing_after_an_edit_is_a_conflict_and_changes_nothing(memory: AsyncMemory, log: Log) -> None:
    first, second = await stored(memory, "one", "two")
    changeset_id = await log.stage_and_apply(archive(first), archive(second))
    await memory.memories.update(first, tags=["mine"])
    with pytest.raises(ChangeConflictError, match=f"{first} was changed after the change was applied"):
        await log.undo(changeset_id)
    assert (await memory.memories.get(second)).status == "archived"
    await memory.memories.update(first, tags=[])
    await log.undo(changeset_id)
    assert (await memory.memories.get(first)).status == "active"


async def test_changesets_are_undone_one_after_the_other(memory: AsyncMemory, log: Log) -> None:
    (memory_id,) = await stored(memory, "one")
    before = await memory.memories.get(memory_id)
    first = await log.stage_and_apply(
        MemoryChange(memory_id, "move", {"channel": "work"}, "It is about work.")
    )
    second = await log.stage_and_apply(archive(memory_id))
    with pytest.raises(ChangeConflictError, match="status"):
        await log.undo(first)
    await log.undo(second)
    await log.undo(first)
    assert versioned(await memory.memories.get(memory_id)) == versioned(before)


async def test_a_later_changeset_is_undone_first_even_if_the_state_looks_the_same(
    memory: AsyncMemory, log: Log
) -> None:
    (memory_id,) = await stored(memory, "one")
    review = MemoryChange(memory_id, "quarantine", {"status": "pending_review"}, "It awaits a review.")
    made = [await log.stage_and_apply(change) for change in (archive(memory_id), review, archive(memory_id))]
    with pytest.raises(
        ChangeConflictError, match=f"{memory_id} was changed again by the changeset {made[1]}"
    ):
        await log.undo(made[0])
    for changeset_id in reversed(made):
        await log.undo(changeset_id)
    assert (await memory.memories.get(memory_id)).status == "active"


async def test_a_chunk_cannot_replace_another_one_of_its_text(memory: AsyncMemory, log: Log) -> None:
    await memory.retain(LONG_TEXT)
    first, second, *_ = [each.memory_id for each in await memory.memories.list()]
    with pytest.raises(ChangeConflictError, match="are parts of one text"):
        await log.stage_and_apply(supersede(first, second)[0])


async def test_two_changes_of_one_memory_are_applied_and_undone_together(
    memory: AsyncMemory, log: Log
) -> None:
    (memory_id,) = await stored(memory, "one")
    before = await memory.memories.get(memory_id)
    move = MemoryChange(memory_id, "move", {"channel": "work"}, "It is about work.")
    changeset_id = await log.stage_and_apply(move, archive(memory_id))
    after = await memory.memories.get(memory_id)
    assert (after.channel, after.status) == ("work", "archived")
    await log.undo(changeset_id)
    assert versioned(await memory.memories.get(memory_id)) == versioned(before)


async def test_the_chunks_of_a_text_share_a_change(memory: AsyncMemory, log: Log) -> None:
    await memory.retain(LONG_TEXT)
    chunk_ids = [each.memory_id for each in await memory.memories.list()]
    assert len(chunk_ids) > 2
    before = [versioned(await memory.memories.get(each)) for each in chunk_ids]
    tag_second = MemoryChange(chunk_ids[1], "archive", {"status": "archived", "tags": ["old"]}, "It is old.")
    changeset_id = await log.stage_and_apply(archive(chunk_ids[0]), tag_second)
    assert {(await memory.memories.get(each)).status for each in chunk_ids} == {"archived"}
    await log.undo(changeset_id)
    assert [versioned(await memory.memories.get(each)) for each in chunk_ids] == before


async def test_undoing_an_add_forgets_the_memory(memory: AsyncMemory, log: Log) -> None:
    old_id, new_id = await stored(memory, "old", "new")
    added = MemoryChange(
        new_id, "add", {}, "It was understood.", related_id=old_id, relationship="derived_from"
    )
    changeset_id = await log.stage_and_apply(added)
    await log.undo(changeset_id)
    assert (await memory.memories.get(new_id)).deleted_at is not None
    assert await memory.memories.related(old_id) == []


async def test_an_added_memory_that_replaced_another_since_cannot_be_undone_alone(
    memory: AsyncMemory, log: Log
) -> None:
    old_id, new_id = await stored(memory, "old", "new")
    added = await log.stage_and_apply(MemoryChange(new_id, "add", {}, "It was understood."))
    replaced = await log.stage_and_apply(*supersede(old_id, new_id))
    with pytest.raises(ChangeConflictError, match=f"{old_id} was replaced by {new_id}"):
        await log.undo(added)
    await log.undo(replaced)
    await log.undo(added)
    assert (await memory.memories.get(old_id)).status == "active"


async def test_a_replacement_must_still_be_there(memory: AsyncMemory, log: Log) -> None:
    old_id, new_id = await stored(memory, "old", "new")
    changeset_id = await log.stage(*supersede(old_id, new_id))
    await memory.memories.forget(new_id)
    with pytest.raises(ChangeConflictError, match=rf"{new_id}, which is forgotten|{new_id} was changed"):
        await log.apply(changeset_id)
    assert (await memory.memories.get(old_id)).status == "active"


async def test_the_same_content_stored_since_is_a_conflict(memory: AsyncMemory, log: Log) -> None:
    (first,) = await stored(memory, "one")
    changeset_id = await log.stage_and_apply(archive(first))
    (second,) = await stored(memory, "one")
    assert second != first
    with pytest.raises(ChangeConflictError, match=f"{first} has the same content as {second}"):
        await log.undo(changeset_id)
    await memory.memories.forget(second)
    await log.undo(changeset_id)
    assert (await memory.memories.get(first)).status == "active"


async def test_a_relationship_that_existed_before_stays(memory: AsyncMemory, log: Log) -> None:
    old_id, new_id = await stored(memory, "old", "new")
    mine = await memory.memories.relate(new_id, old_id, "supersedes", confidence=0.5)
    changeset_id = await log.stage_and_apply(*supersede(old_id, new_id))
    await log.undo(changeset_id)
    assert list(await memory.memories.related(old_id)) == [mine]


async def test_a_relationship_stays_while_another_applied_change_needs_it(
    memory: AsyncMemory, log: Log
) -> None:
    first, second = await stored(memory, "one", "two")
    change = MemoryChange(first, "merge", {}, "alike", related_id=second, relationship="co_occurs")
    added_it, found_it = await log.stage_and_apply(change), await log.stage_and_apply(change)
    await log.undo(added_it)
    assert len(await memory.memories.related(first)) == 1
    await log.undo(found_it)
    assert await memory.memories.related(first) == []


async def test_some_changes_are_applied_and_others_rejected(
    memory: AsyncMemory, log: Log, rows: Rows
) -> None:
    first, second, third = await stored(memory, "one", "two", "three")
    changeset_id = await log.stage(archive(first), archive(second), archive(third))
    ids = [
        UUID(str(change_id))
        for (change_id,) in rows.select(
            "SELECT change_id FROM state.memory_changes WHERE changeset_id = %s ORDER BY position",
            changeset_id,
        )
    ]
    state = "SELECT state FROM state.changesets WHERE changeset_id = %s"
    assert await log.apply(changeset_id, ids[0]) == (ids[0],)
    assert rows.value(state, changeset_id) == "staged"
    await log.reject(changeset_id, ids[1])
    with pytest.raises(ConflictError, match=f"{ids[1]} is rejected: there is nothing to apply"):
        await log.apply(changeset_id, ids[1])
    assert await log.apply(changeset_id) == (ids[2],)
    assert rows.value(state, changeset_id) == "applied"
    with pytest.raises(ConflictError, match="has no change to apply"):
        await log.apply(changeset_id)
    assert await log.undo(changeset_id) == (ids[2], ids[0])
    assert rows.value(state, changeset_id) == "undone"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"content": "other words"}, "cannot set 'content'"),
        ({"owner": "bob"}, "cannot set 'owner'"),
        ({"status": "gone"}, "status must be one of"),
        ({"superseded_by": "x"}, "superseded_by must be an id"),
        ({"valid_to": "soon"}, "valid_to must be a date"),
        ({"confidence": 2}, "confidence must be a number from 0 to 1"),
        ({"metadata": []}, "metadata must be a mapping"),
    ],
)
async def test_a_bad_change_is_refused_and_nothing_is_stored(
    memory: AsyncMemory, log: Log, rows: Rows, fields: dict[str, Any], message: str
) -> None:
    (memory_id,) = await stored(memory, "one")
    before = rows.counts(memory.tenant.id)
    with pytest.raises(InvalidInputError, match=message):
        await log.stage(archive(memory_id), MemoryChange(memory_id, "archive", fields, "no"))
    assert rows.counts(memory.tenant.id) == before


async def test_memories_and_changesets_of_another_owner_are_not_found(memory: AsyncMemory, log: Log) -> None:
    (mine,) = await stored(memory, "one")
    (theirs,) = (await memory.scope(owner="bob").retain("two")).memory_ids
    with pytest.raises(NotFoundError, match=f"no memory {theirs}"):
        await log.stage(archive(mine), archive(theirs))
    with pytest.raises(ChangeConflictError, match=f"{theirs}, which is gone"):
        await log.stage_and_apply(*supersede(mine, theirs)[:1])
    changeset_id = await log.stage(archive(mine))
    for work in (log.apply, log.undo):
        with pytest.raises(NotFoundError, match="no changeset"):
            await work(changeset_id, owner="bob")
        with pytest.raises(NotFoundError, match="no changeset"):
            await work(uuid4())


async def test_a_changeset_has_a_bounded_number_of_changes(memory: AsyncMemory, log: Log) -> None:
    (memory_id,) = await stored(memory, "one")
    for count in (0, changesets.CHANGES_MAX + 1):
        with pytest.raises(InvalidInputError, match="A changeset has 1 to 10,000 changes"):
            await log.stage(*[archive(memory_id)] * count)
