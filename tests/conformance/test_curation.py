"""The curator, the change log and `why` are the same on every transport."""

from typing import Any

import pytest

from mnemic.errors import ChangeConflictError, InvalidInputError, NotFoundError
from mnemic.types.changeset import Changeset
from mnemic.types.curation import ChangesetDiff, CurationRun
from mnemic.types.why import Why


async def outdated(memory: Any) -> tuple[Any, Any]:
    older, newer = (await memory.retain(["Alice lives in Berlin.", "Alice has moved to Lisbon."])).memory_ids
    await memory.memories.decide_outdated(older, newer, "outdated")
    return older, newer


async def test_proposals_are_staged_approved_applied_and_undone(memory: Any) -> None:
    older, newer = await outdated(memory)
    assert (await memory.curation.propose(dry_run=True)).is_dry_run
    run = await memory.curation.propose(kinds=["supersede"])
    assert isinstance(run, CurationRun)
    (change,) = run.changes
    assert (change.memory_id, change.other_id, change.kind) == (older, newer, "supersede")
    diff = await memory.curation.diff(run.changeset_id)
    assert isinstance(diff, ChangesetDiff)
    assert (diff.changes, diff.next_after) == (run.changes, None)
    with pytest.raises(InvalidInputError, match="approve some first"):
        await memory.curation.apply(run.changeset_id)
    approved = await memory.curation.approve(run.changeset_id, change_ids=[change.change_id])
    assert isinstance(approved, Changeset)
    assert approved.change_counts == {"approved": 1}
    assert (await memory.curation.apply(run.changeset_id)).state == "applied"
    assert (await memory.memories.get(older)).superseded_by == newer
    await memory.memories.tag(older, "mine")
    with pytest.raises(ChangeConflictError, match=f"{older} was changed after the change") as caught:
        await memory.curation.undo(run.changeset_id)
    assert caught.value.conflicts == (f"the memory {older} was changed after the change was applied (tags)",)
    await memory.memories.untag(older, "mine")
    assert (await memory.curation.undo(run.changeset_id)).state == "undone"
    assert (await memory.memories.get(older)).status == "active"
    assert [each.changeset_id for each in await memory.curation.list()] == [run.changeset_id]
    assert (await memory.curation.get(run.changeset_id)).change_counts == {"undone": 1}
    with pytest.raises(NotFoundError):
        await memory.curation.get(older)


async def test_a_policy_is_set_and_a_proposal_rejected(memory: Any) -> None:
    await outdated(memory)
    run = await memory.curation.propose()
    assert (await memory.curation.reject(run.changeset_id)).state == "rejected"
    assert (await memory.curation.propose()).changes == ()
    assert (await memory.curation.set_policy("supersede", automatic=True))["supersede"] is True
    assert (await memory.curation.policies())["supersede"] is True


async def test_a_memory_is_explained_by_its_turn(memory: Any) -> None:
    turn = {"role": "user", "name": "Alice", "content": "I moved to Lisbon."}
    (said,) = (await memory.retain(turn, conversation="c-1")).memory_ids
    (fact,) = (await memory.retain("Alice lives in Lisbon.")).memory_ids
    await memory.memories.relate(fact, said, "derived_from")
    why = await memory.memories.why(fact)
    assert isinstance(why, Why)
    assert [(source.memory_id, source.name, source.depth) for source in why.sources] == [(said, "Alice", 1)]
    assert "It rests on:" in why.text
    with pytest.raises(NotFoundError):
        await memory.memories.why(fact, owner=f"stranger to {memory.owner}")
