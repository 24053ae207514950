"""Merging a branch does what a dry run shows; conflicts have choices, and it can be undone."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from mnemic.db.database import TenantDatabase
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.record.changesets import undo
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.branch import Merge
from tests.branches.test_changing import id_of
from tests.branches.test_reading import BERLIN, CATS, PARIS, listed, recalled

CHESS = "Alice plays chess on Mondays."
ROME = "Alice lives in Rome."


@pytest.fixture
async def forked(memory: AsyncMemory) -> AsyncMemory:
    await memory.retain([PARIS, CATS])
    await memory.channels.fork("what-if")
    return memory


async def undo_merge(database: TenantDatabase, merged: Merge) -> None:
    assert merged.changeset_id is not None
    async with database.transaction() as transaction:
        await undo(transaction, "alice", merged.changeset_id)


def done(merge: Merge) -> list[tuple[object, ...]]:
    """What a merge does, without whether it was done."""
    return [(*merge.changes,), (*merge.conflicts,), (*merge.left_behind,), (merge.channel, merge.parent)]


async def states(memory: AsyncMemory, ids: Sequence[UUID]) -> list[tuple[object, ...]]:
    records = [await memory.memories.get(each) for each in ids]
    return [
        (each.channel, each.status, each.deleted_at, each.superseded_by, each.valid_to) for each in records
    ]


async def test_a_dry_run_shows_what_merging_does(
    forked: AsyncMemory, tenant_database: TenantDatabase
) -> None:
    paris, cats = await id_of(forked, PARIS), await id_of(forked, CATS)
    branch = forked.scope(channel="what-if")
    berlin = await branch.memories.supersede(paris, BERLIN)
    chess = (await branch.retain(CHESS)).memory_ids[0]
    await branch.memories.forget(cats)
    seen = await listed(forked, "what-if")
    dry = await forked.channels.merge("what-if", dry_run=True)
    assert await listed(forked, None) == {PARIS, CATS}
    assert {(change.kind, str(change.memory_id)) for change in dry.changes} == {
        ("supersede", paris),
        ("forget", cats),
        ("move", str(berlin.memory_id)),
        ("move", str(chess)),
    }
    assert (dry.dry_run, dry.conflicts, dry.left_behind, dry.changeset_id) == (True, (), (), None)
    ids = [UUID(paris), UUID(cats), berlin.memory_id, chess]
    before = await states(forked, ids)

    merged = await forked.channels.merge("what-if")
    assert done(merged) == done(dry)
    assert await listed(forked, None) == await recalled(forked) == seen == {BERLIN, CHESS}
    assert (await forked.memories.get(paris)).superseded_by == berlin.memory_id
    (edge,) = await forked.memories.related(paris, kinds=["supersedes"])
    assert (edge.from_id, str(edge.to_id)) == (berlin.memory_id, paris)
    (channel,) = [each for each in await forked.channels.list() if each.channel == "what-if"]
    assert (channel.state, channel.changeset_id, channel.memory_count) == ("merged", merged.changeset_id, 0)

    await undo_merge(tenant_database, merged)
    assert await states(forked, ids) == before
    assert await listed(forked, None) == await recalled(forked) == {PARIS, CATS}
    assert await listed(forked, "what-if") == await recalled(forked, channel="what-if") == seen
    assert await forked.memories.related(paris) == []
    await branch.retain("Alice has a bicycle.")
    again = await forked.channels.merge("what-if")
    assert len(again.changes) == len(merged.changes) + 1


async def test_a_merged_branch_is_closed(forked: AsyncMemory) -> None:
    await forked.retain(BERLIN, channel="what-if")
    await forked.channels.merge("what-if")
    with pytest.raises(InvalidInputError, match="merged"):
        await forked.retain(CHESS, channel="what-if")
    with pytest.raises(ConflictError, match="was merged"):
        await forked.channels.merge("what-if")
    with pytest.raises(ConflictError, match="was merged"):
        await forked.channels.fork("below", parent="what-if")
    with pytest.raises(NotFoundError):
        await forked.channels.merge("nothing")
    receipt = await forked.channels.drop("what-if")
    assert receipt.rows == {"state.channel_branches": 1, "queue.event_inbox": 2}
    assert await listed(forked, None) == {PARIS, CATS, BERLIN}


async def test_a_memory_that_the_parent_changed_is_a_conflict(
    forked: AsyncMemory, tenant_database: TenantDatabase
) -> None:
    paris = await id_of(forked, PARIS)
    branch = forked.scope(channel="what-if")
    berlin = await branch.memories.supersede(paris, BERLIN)
    rome = await forked.memories.supersede(paris, ROME)
    dry = await forked.channels.merge("what-if", dry_run=True)
    (conflict,) = dry.conflicts
    assert (conflict.kind, conflict.branch_memory_id, conflict.parent_memory_id, conflict.choice) == (
        "changed",
        berlin.memory_id,
        rome.memory_id,
        None,
    )
    assert (conflict.branch_content, conflict.parent_content) == (BERLIN, ROME)
    assert dry.unresolved == (conflict,)
    with pytest.raises(ConflictError, match=conflict.conflict_id):
        await forked.channels.merge("what-if")
    assert await listed(forked, None) == {ROME, CATS}
    expected = {"branch": {BERLIN, CATS}, "parent": {ROME, CATS}, "both": {BERLIN, ROME, CATS}}
    for choice, visible in expected.items():
        merged = await forked.channels.merge("what-if", choices={conflict.conflict_id: choice})  # type: ignore[dict-item]
        assert await listed(forked, None) == visible
        assert merged.left_behind == ((berlin.memory_id,) if choice == "parent" else ())
        if merged.changeset_id is not None:
            await undo_merge(tenant_database, merged)
            assert await listed(forked, None) == {ROME, CATS}
            assert await listed(forked, "what-if") == {BERLIN, CATS}
        else:
            break


async def test_another_value_in_the_parent_is_a_conflict(forked: AsyncMemory) -> None:
    await forked.retain("Alice's favourite colour is blue.", channel="what-if")
    await forked.retain("Alice's favourite colour is green.")
    dry = await forked.channels.merge("what-if", dry_run=True)
    (conflict,) = dry.conflicts
    assert conflict.kind == "value"
    merged = await forked.channels.merge("what-if", otherwise="branch")
    assert merged.unresolved == ()
    assert await listed(forked, None) == {PARIS, CATS, "Alice's favourite colour is blue."}


async def test_a_value_from_before_the_fork_is_no_conflict(memory: AsyncMemory) -> None:
    await memory.retain("Alice's favourite colour is blue.")
    await memory.channels.fork("what-if")
    await memory.retain("Alice's favourite colour is green.", channel="what-if")
    assert (await memory.channels.merge("what-if")).conflicts == ()


async def test_duplicates_are_left_behind_unless_the_branch_is_chosen(
    forked: AsyncMemory, tenant_database: TenantDatabase
) -> None:
    inside = (await forked.retain([CHESS, PARIS], channel="what-if")).memory_ids
    outside = (await forked.retain(CHESS)).memory_ids[0]
    dry = await forked.channels.merge("what-if", dry_run=True)
    assert [(each.kind, each.choice, each.choices) for each in dry.conflicts] == [
        ("duplicate", "parent", ("branch", "parent"))
    ] * 2
    assert set(dry.left_behind) == set(inside)
    merged = await forked.channels.merge("what-if", otherwise="branch")
    assert await listed(forked, None) == {PARIS, CATS, CHESS}
    assert (await forked.memories.get(outside)).merged_into == inside[0]
    await undo_merge(tenant_database, merged)
    assert (await forked.memories.get(outside)).status == "active"
    with pytest.raises(InvalidInputError, match="choices"):
        await forked.channels.merge("what-if", choices={dry.conflicts[0].conflict_id: "both"})


async def test_what_was_forgotten_and_said_again_is_no_duplicate(forked: AsyncMemory) -> None:
    paris = await id_of(forked, PARIS)
    await forked.memories.forget(paris, channel="what-if")
    again = (await forked.retain(PARIS, channel="what-if")).memory_ids[0]
    merged = await forked.channels.merge("what-if")
    assert merged.conflicts == ()
    assert await listed(forked, None) == {PARIS, CATS}
    assert str(again) == await id_of(forked, PARIS)


async def test_unknown_choices_are_refused(forked: AsyncMemory) -> None:
    await forked.retain(CHESS, channel="what-if")
    for choices in ({"changed:1:2": "branch"}, {"a": "neither"}):
        with pytest.raises(InvalidInputError):
            await forked.channels.merge("what-if", choices=choices)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError):
        await forked.channels.merge("what-if", otherwise="neither")  # type: ignore[arg-type]
    assert await listed(forked, None) == {PARIS, CATS}


async def test_a_branch_of_a_branch_is_merged_step_by_step(
    forked: AsyncMemory, tenant_database: TenantDatabase
) -> None:
    paris = await id_of(forked, PARIS)
    await forked.channels.fork("below", parent="what-if")
    await forked.memories.supersede(paris, BERLIN, channel="below")
    for refused in (forked.channels.merge("what-if"), forked.channels.drop("what-if")):
        with pytest.raises(ConflictError, match="'below'"):
            await refused
    merged = await forked.channels.merge("below")
    assert {change.kind for change in merged.changes} == {"hide", "move"}
    assert await listed(forked, "what-if") == {BERLIN, CATS}
    assert await listed(forked, None) == {PARIS, CATS}
    await undo_merge(tenant_database, merged)
    assert await listed(forked, "what-if") == {PARIS, CATS}
    assert await listed(forked, "below") == {BERLIN, CATS}
    await forked.channels.merge("below")
    await forked.channels.merge("what-if")
    assert await listed(forked, None) == {BERLIN, CATS}


async def test_a_merged_conversation_goes_on_in_the_parent(
    forked: AsyncMemory, tenant_database: TenantDatabase
) -> None:
    await forked.retain("Let us move.", conversation="planning", channel="what-if", role="user")
    await undo_merge(tenant_database, await forked.channels.merge("what-if"))
    assert (await forked.conversations.get("planning")).channel == "what-if"
    await forked.channels.merge("what-if")
    assert [each.channel for each in await forked.conversations.list()] == ["_global"]
    await forked.retain("Done.", conversation="planning", role="assistant")
    turns = await forked.conversations.turns("planning")
    assert [turn.content for turn in turns] == ["Let us move.", "Done."]
    await forked.channels.drop("what-if")
    assert len(await forked.conversations.turns("planning")) == 2
