"""Branches are the same on every transport."""

from typing import Any

import pytest

from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.types.branch import BranchReceipt, Channel, Merge, MergeChange, MergeConflict


async def test_a_branch_is_forked_read_merged_and_dropped(memory: Any, owner: str) -> None:
    paris = (await memory.retain("Alice lives in Paris.")).memory_ids[0]
    name = "what if / 100 %?"
    branch = await memory.channels.fork(name, reason="trying it out")
    assert isinstance(branch, Channel)
    assert (branch.parent, branch.state, branch.reason) == ("_global", "open", "trying it out")
    with pytest.raises(ConflictError):
        await memory.channels.fork(name)
    berlin = await memory.memories.supersede(paris, "Alice lives in Berlin.", channel=name)
    assert (berlin.channel, berlin.content) == (name, "Alice lives in Berlin.")
    found = await memory.recall("Where does Alice live?", channel=name, refuse_below=0)
    assert [hit.memory.content for hit in found] == ["Alice lives in Berlin."]
    found = await memory.recall("Where does Alice live?", refuse_below=0)
    assert [hit.memory.content for hit in found] == ["Alice lives in Paris."]
    assert [each.memory_id for each in await memory.memories.list(channel=name)] == [berlin.memory_id]

    dry = await memory.channels.merge(name, dry_run=True)
    assert isinstance(dry, Merge)
    assert all(isinstance(change, MergeChange) for change in dry.changes)
    assert {(change.kind, change.memory_id) for change in dry.changes} == {
        ("supersede", paris),
        ("move", berlin.memory_id),
    }
    await memory.memories.tag(paris, "home")
    (conflict,) = (await memory.channels.merge(name, dry_run=True)).conflicts
    assert isinstance(conflict, MergeConflict)
    assert (conflict.kind, conflict.choices) == ("changed", ("branch", "parent", "both"))
    with pytest.raises(ConflictError):
        await memory.channels.merge(name)
    with pytest.raises(InvalidInputError):
        await memory.channels.merge(name, choices={"nothing": "branch"})
    merged = await memory.channels.merge(name, choices={conflict.conflict_id: "branch"})
    assert merged.changeset_id is not None
    assert [each.content for each in await memory.memories.list()] == ["Alice lives in Berlin."]
    states = {each.channel: (each.state, each.memory_count) for each in await memory.channels.list()}
    assert states == {"_global": (None, 2), name: ("merged", 0)}

    receipt = await memory.channels.drop(name)
    assert isinstance(receipt, BranchReceipt)
    assert receipt.rows["state.channel_branches"] == 1
    with pytest.raises(NotFoundError):
        await memory.channels.drop(name)
