"""The curator, the change log and `why` are the same on every transport."""

from typing import Any

import pytest

from mnemic.errors import ChangeConflictError, ConflictError, InvalidInputError, NotFoundError
from mnemic.types.changeset import Changeset
from mnemic.types.cleanup import CleanupCandidate, CleanupCount, CleanupPage, CleanupRun
from mnemic.types.curation import ChangesetDiff, CurationRun
from mnemic.types.memory import MemoryRecord
from mnemic.types.review import Resolution, ReviewPage, ReviewPair, Waiting
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


async def test_a_pair_is_listed_decided_and_taken_back(memory: Any) -> None:
    texts = ["Alice drinks green tea every morning.", "Every morning Alice drinks green tea."]
    (older,), (newer,) = [(await memory.retain(text)).memory_ids for text in texts]
    await memory.memories.near_duplicates()
    waiting = await memory.curation.waiting()
    assert isinstance(waiting, Waiting)
    assert (waiting.near_duplicate_count, waiting.total_count) == (1, 1)
    page = await memory.curation.pairs("near_duplicate")
    assert isinstance(page, ReviewPage)
    (pair,) = page.pairs
    assert isinstance(pair, ReviewPair)
    assert isinstance(pair.memory, MemoryRecord)
    assert isinstance(pair.other, MemoryRecord)
    assert (pair.memory.memory_id, pair.other.memory_id, page.next_before) == (newer, older, None)
    kept = await memory.curation.resolve("near_duplicate", newer, older, decision="keep_both")
    assert kept == Resolution("near_duplicate", newer, older, "keep_both", None)
    await memory.curation.reopen("near_duplicate", newer, older)
    with pytest.raises(ConflictError, match="you saw version 9"):
        await memory.curation.resolve(
            "near_duplicate", newer, older, decision="keep_new", memory_version=9, other_version=1
        )
    merged = await memory.curation.resolve("near_duplicate", newer, older, decision="keep_new")
    assert (await memory.memories.get(older)).merged_into == newer
    await memory.curation.undo(merged.changeset_id)
    assert (await memory.curation.pairs("near_duplicate", limit=1)).pairs[0].other.memory_id == older


async def test_cleanup_is_counted_tried_run_and_taken_back(memory: Any) -> None:
    (over,) = (await memory.retain("The shop is closed.", expires_at="2020-01-01T00:00:00Z")).memory_ids
    counts = await memory.cleanup.counts(refresh=True)
    assert all(isinstance(each, CleanupCount) for each in counts)
    assert {each.kind: each.memory_count for each in counts}["expired"] == 1
    page = await memory.cleanup.list("expired")
    assert isinstance(page, CleanupPage)
    (candidate,) = page.candidates
    assert isinstance(candidate, CleanupCandidate)
    assert (candidate.memory.memory_id, candidate.reason) == (over, "It has expired.")
    dry = await memory.cleanup.archive("expired", dry_run=True)
    assert isinstance(dry, CleanupRun)
    assert (dry.change_count, dry.changeset_id) == (1, None)
    run = await memory.cleanup.archive("expired", memory_ids=[over])
    assert (await memory.memories.get(over)).status == "archived"
    await memory.curation.undo(run.changeset_id)
    assert (await memory.memories.get(over)).status == "active"
