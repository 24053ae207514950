"""Approve, reject, apply and undo; policies; the daily job; audit and events."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from mnemic.curation.jobs import propose_for_all
from mnemic.errors import (
    ChangeConflictError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    PermanentJobError,
)
from mnemic.jobs.handlers import RunningJob
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.curation import CurationRun
from tests.curation.stores import duplicates, outdated_pair, weak
from tests.fresh_tenants import Rows
from tests.opened import core_of

pytestmark = pytest.mark.usefixtures("no_comparisons")


async def staged(memory: AsyncMemory) -> tuple[UUID, CurationRun]:
    run = await memory.curation.propose()
    assert run.changeset_id is not None
    return run.changeset_id, run


def job_of(memory: AsyncMemory, payload: dict[str, Any]) -> RunningJob:
    return RunningJob(uuid4(), "curation.propose", payload, None, 1, memory.tenant)


async def test_staged_changes_are_invisible_until_they_are_applied(memory: AsyncMemory) -> None:
    older, newer = await outdated_pair(memory)
    before = [await memory.memories.get(each) for each in (older, newer)]
    found = [hit.memory.memory_id for hit in await memory.recall("Where does Alice live?", refuse_below=0)]
    changeset_id, _ = await staged(memory)
    await memory.curation.approve(changeset_id)
    for each in before:
        assert await memory.memories.get(each.memory_id) == each
        assert await memory.memories.history(each.memory_id) == [each]
        assert await memory.memories.as_of(each.memory_id, each.recorded_at) == each
    after = [hit.memory.memory_id for hit in await memory.recall("Where does Alice live?", refuse_below=0)]
    assert after == found
    await memory.curation.apply(changeset_id)
    recalled = await memory.recall("Where does Alice live?", refuse_below=0)
    assert [hit.memory.memory_id for hit in recalled] == [newer]
    known = await memory.memories.as_of(older, before[0].recorded_at)
    assert known is not None
    assert known.status == "active"


async def test_a_merge_is_applied_and_undone(memory: AsyncMemory) -> None:
    weaker, better = await duplicates(memory)
    before = [await memory.memories.get(each) for each in (weaker, better)]
    changeset_id, _ = await staged(memory)
    await memory.curation.approve(changeset_id)
    assert (await memory.curation.apply(changeset_id)).state == "applied"
    merged, kept = await memory.memories.get(weaker), await memory.memories.get(better)
    assert (merged.status, merged.merged_into) == ("merged", better)
    assert (kept.tags, kept.evidence) == (("drinks", "habits"), ("a note",))
    undone = await memory.curation.undo(changeset_id)
    assert (undone.state, undone.change_counts) == ("undone", {"undone": 2})
    for each in before:
        restored = await memory.memories.get(each.memory_id)
        assert (restored.status, restored.tags, restored.evidence) == (each.status, each.tags, each.evidence)


async def test_some_changes_are_approved_others_rejected(memory: AsyncMemory, rows: Rows) -> None:
    ids = [await weak(memory, rows, f"Alice may like {thing}.") for thing in ("opera", "jazz", "folk")]
    changeset_id, run = await staged(memory)
    change_ids = [change.change_id for change in run.changes]
    await memory.curation.approve(changeset_id, change_ids=change_ids[:1])
    await memory.curation.reject(changeset_id, change_ids=change_ids[1:2])
    changeset = await memory.curation.apply(changeset_id)
    assert changeset.change_counts == {"applied": 1, "rejected": 1, "staged": 1}
    assert changeset.state == "staged"
    assert [(await memory.memories.get(each)).status for each in ids] == ["archived", "active", "active"]
    await memory.curation.apply(changeset_id, change_ids=change_ids[2:])
    await memory.curation.undo(changeset_id, change_ids=change_ids[:1])
    assert [(await memory.memories.get(each)).status for each in ids] == ["active", "active", "archived"]
    assert (await memory.curation.get(changeset_id)).state == "applied"


async def test_a_rejected_change_waits_again_when_it_is_undone(memory: AsyncMemory, rows: Rows) -> None:
    ids = [await weak(memory, rows, f"Alice may like {thing}.") for thing in ("opera", "jazz", "folk")]
    changeset_id, run = await staged(memory)
    first, second, third = [change.change_id for change in run.changes]
    await memory.curation.reject(changeset_id)
    changeset = await memory.curation.undo(changeset_id, change_ids=[first])
    assert (changeset.state, changeset.change_counts) == ("staged", {"staged": 1, "rejected": 2})
    changeset = await memory.curation.undo(changeset_id)
    assert changeset.change_counts == {"staged": 3}
    await memory.curation.apply(changeset_id, change_ids=[first])
    await memory.curation.reject(changeset_id, change_ids=[second, third])
    # What was applied is undone first; rejected changes are undone with it only if they are named.
    changeset = await memory.curation.undo(changeset_id)
    assert (changeset.state, changeset.change_counts) == ("undone", {"undone": 1, "rejected": 2})
    changeset = await memory.curation.undo(changeset_id, change_ids=[second])
    assert changeset.change_counts == {"undone": 1, "staged": 1, "rejected": 1}
    with pytest.raises(ConflictError, match=f"{first} is undone: there is nothing to undo"):
        await memory.curation.undo(changeset_id, change_ids=[first])
    assert [(await memory.memories.get(each)).status for each in ids] == ["active"] * 3


async def test_nothing_is_applied_that_is_not_approved(memory: AsyncMemory) -> None:
    await outdated_pair(memory)
    changeset_id, _ = await staged(memory)
    with pytest.raises(InvalidInputError, match="approve some first"):
        await memory.curation.apply(changeset_id)


async def test_a_diff_comes_in_pages_and_as_text(memory: AsyncMemory, rows: Rows) -> None:
    for thing in ("opera", "jazz", "folk"):
        await weak(memory, rows, f"Alice may like {thing}.")
    changeset_id, _ = await staged(memory)
    first = await memory.curation.diff(changeset_id, limit=2)
    rest = await memory.curation.diff(changeset_id, after=first.next_after, limit=2)
    assert [change.content for change in (*first.changes, *rest.changes)] == [
        f"Alice may like {thing}." for thing in ("opera", "jazz", "folk")
    ]
    assert (first.next_after, rest.next_after) == (1, None)
    assert "- status: active\n+ status: archived\n" in first.text
    assert (
        "  because: Its confidence is 0.50, nothing confirmed it, and it was not used for 400 days."
        in first.text
    )
    assert first.text.endswith("More changes follow after position 1.")


async def test_acts_are_audited_and_published(memory: AsyncMemory) -> None:
    older, _ = await outdated_pair(memory)
    changeset_id, _ = await staged(memory)
    await memory.curation.approve(changeset_id)
    await memory.curation.apply(changeset_id)
    await memory.memories.update(older, tags=["mine"])
    with pytest.raises(ChangeConflictError):
        await memory.curation.undo(changeset_id)
    await memory.memories.update(older, tags=[])
    await memory.curation.undo(changeset_id)
    acts = [(act.action, act.phase) for act in await memory.audit.list()]
    assert acts == [
        ("undo_changeset", "succeeded"),
        ("undo_changeset", "intent"),
        ("undo_changeset", "failed"),
        ("undo_changeset", "intent"),
        ("apply_changeset", "succeeded"),
        ("apply_changeset", "intent"),
    ]
    events = await memory.events.list(types=["changeset.staged", "changeset.applied", "changeset.undone"])
    assert [(event.type, event.subject) for event in events] == [
        (f"changeset.{state}", str(changeset_id)) for state in ("staged", "applied", "undone")
    ]
    assert dict(events[0].data) == {"purpose": "curation", "state": "staged"}


async def test_an_automatic_kind_is_applied_by_the_run_itself(memory: AsyncMemory, rows: Rows) -> None:
    weak_id, (older, _) = await weak(memory, rows), await outdated_pair(memory)
    policies = await memory.curation.set_policy("archive", automatic=True)
    assert policies == dict.fromkeys(("promote", "prune", "merge", "supersede"), False) | {"archive": True}
    run = await memory.curation.propose()
    assert (run.applied_count, run.counts["archive"], run.counts["supersede"]) == (1, 1, 1)
    assert (await memory.memories.get(weak_id)).status == "archived"
    assert (await memory.memories.get(older)).status == "active"
    assert await memory.curation.set_policy("archive", automatic=False) == await memory.curation.policies()


async def test_the_daily_job_only_stages_and_reaches_every_owner(memory: AsyncMemory, rows: Rows) -> None:
    other = memory.scope(owner="bob")
    ids = [await weak(each, rows) for each in (memory, other)]
    done = await propose_for_all(core_of(memory), job_of(memory, {}))
    assert done == {"owner_count": 2, "proposed_count": 2, "applied_count": 0}
    again = await propose_for_all(core_of(memory), job_of(memory, {"automatic": ["archive"]}))
    assert again == {"owner_count": 2, "proposed_count": 0, "applied_count": 0}
    for each, memory_id in zip((memory, other), ids, strict=True):
        assert (await each.memories.get(memory_id)).status == "active"
        (changeset,) = await each.curation.list(state="staged")
        assert (changeset.process, changeset.purpose) == ("curator", "curation")


async def test_the_payload_of_a_schedule_makes_kinds_automatic(memory: AsyncMemory, rows: Rows) -> None:
    memory_id = await weak(memory, rows)
    done = await propose_for_all(core_of(memory), job_of(memory, {"automatic": ["archive"]}))
    assert done == {"owner_count": 1, "proposed_count": 1, "applied_count": 1}
    assert (await memory.memories.get(memory_id)).status == "archived"
    with pytest.raises(PermanentJobError, match="automatic must be a list"):
        await propose_for_all(core_of(memory), job_of(memory, {"automatic": "everything"}))


async def test_a_list_is_filtered_and_comes_in_pages(memory: AsyncMemory, rows: Rows) -> None:
    made = []
    for thing in ("opera", "jazz", "folk"):
        await weak(memory, rows, f"Alice may like {thing}.")
        made.append((await staged(memory))[0])
    await memory.curation.reject(made[1])
    newest = await memory.curation.list(limit=2)
    assert [each.changeset_id for each in newest] == made[:0:-1]
    rest = await memory.curation.list(before=newest[-1].changeset_id)
    assert [each.changeset_id for each in rest] == made[:1]
    assert [each.changeset_id for each in await memory.curation.list(state="rejected")] == [made[1]]
    assert await memory.curation.list(purpose="cleanup") == []
    with pytest.raises(InvalidInputError, match="state must be one of"):
        await memory.curation.list(state="done")  # type: ignore[arg-type]


async def test_an_unknown_changeset_or_change_is_not_found(memory: AsyncMemory) -> None:
    await outdated_pair(memory)
    changeset_id, _ = await staged(memory)
    group = memory.curation
    for call in (group.get, group.diff, group.approve, group.reject, group.apply, group.undo):
        with pytest.raises(NotFoundError, match="There is no changeset"):
            await call(uuid4())
        with pytest.raises(InvalidInputError, match="changeset_id must be an id"):
            await call("x")
    for call in (group.approve, group.reject, group.apply, group.undo):
        with pytest.raises(NotFoundError, match="has no change"):
            await call(changeset_id, change_ids=[uuid4()])
        with pytest.raises(InvalidInputError, match="change_ids must be"):
            await call(changeset_id, change_ids="all")


async def test_erasing_an_owner_leaves_no_change_policy_or_cursor(memory: AsyncMemory, rows: Rows) -> None:
    await outdated_pair(memory)
    await staged(memory)
    await memory.curation.set_policy("archive", automatic=True)
    tables = {
        f"state.{name}" for name in ("changesets", "memory_changes", "curation_policies", "curation_cursors")
    }
    assert tables <= set(rows.counts(memory.tenant.id))
    await memory.admin.erase("alice")
    assert not tables & set(rows.counts(memory.tenant.id))
