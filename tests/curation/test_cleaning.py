"""Cleanup: candidates of each kind, dry runs that show what a run changes, and undo of a whole run."""

from uuid import UUID, uuid4

import pytest

from mnemic.curation import cleaning
from mnemic.errors import InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.cleanup import CLEANUP_KINDS, CleanupKind
from tests.fresh_tenants import Rows

LONG_AGO = "now() - interval '400 days'"


async def old(memory: AsyncMemory, rows: Rows, content: str, **fields: object) -> UUID:
    """A memory that was stored 400 days ago and never recalled."""
    (memory_id,) = (await memory.retain(content, **{"category": "preference", **fields})).memory_ids  # type: ignore[arg-type]
    rows.run(f"UPDATE state.memories SET created_at = {LONG_AGO} WHERE memory_id = '{memory_id}'")
    return memory_id


async def stale(memory: AsyncMemory, rows: Rows, content: str, **fields: object) -> UUID:
    """A memory that was last recalled a year ago."""
    memory_id = await old(memory, rows, content, **fields)
    rows.run(
        "INSERT INTO state.recall_counts (tenant_id, memory_id, retrieval_count, last_retrieved_at)"
        f" VALUES ('{memory.tenant.id}', '{memory_id}', 1, now() - interval '390 days')"
    )
    return memory_id


async def expired(memory: AsyncMemory, content: str, **fields: object) -> UUID:
    (memory_id,) = (await memory.retain(content, expires_at="2020-01-01T00:00:00Z", **fields)).memory_ids  # type: ignore[arg-type]
    return memory_id


async def found(memory: AsyncMemory, kind: CleanupKind) -> list[UUID]:
    return [each.memory.memory_id for each in (await memory.cleanup.list(kind)).candidates]


async def test_each_kind_finds_its_memories_and_leaves_out_anchored_ones_and_turns(
    memory: AsyncMemory, rows: Rows
) -> None:
    never = await old(memory, rows, "Alice may like opera.")
    unused = await stale(memory, rows, "Alice may like ballet.")
    over = await expired(memory, "The shop is closed today.")
    await old(memory, rows, "Alice is allergic to nuts.", anchored=True)
    await stale(memory, rows, "Alice has asthma.", anchored=True)
    await expired(memory, "Keep this.", anchored=True)
    await old(memory, rows, "I said this.", conversation="c", category="episodic")
    await old(memory, rows, "Learn to sail.", category="prospective")
    await memory.retain("Alice likes tea.")
    assert await found(memory, "never_recalled") == [never]
    assert await found(memory, "stale") == [unused]
    assert await found(memory, "expired") == [over]
    assert await found(memory, "dead_links") == []
    assert (await memory.cleanup.list("never_recalled", unused_days=500)).candidates == ()
    assert (await memory.cleanup.list("stale", salience_below=0.01)).candidates == ()
    (candidate,) = (await memory.cleanup.list("stale")).candidates
    assert candidate.reason == "It was not recalled for 90 days, and its salience is below 0.4."
    assert candidate.used_at is not None


async def test_dead_links_are_evidence_that_is_gone_and_replacements_that_are_forgotten(
    memory: AsyncMemory, rows: Rows
) -> None:
    (source,) = (await memory.retain("A note about tea.")).memory_ids
    (kept,) = (await memory.retain("Another note.")).memory_ids
    stranger, link = uuid4(), "https://example.com/a"
    evidence = [str(source), str(kept), str(stranger), link]
    (fact,) = (await memory.retain("Alice drinks tea.", evidence=evidence)).memory_ids
    (first,) = (await memory.retain("Alice lives in Rome.")).memory_ids
    second = await memory.memories.supersede(first, "Alice lives in Oslo.")
    assert await found(memory, "dead_links") == []
    await memory.memories.forget(source)
    await memory.memories.forget(second.memory_id)
    assert await found(memory, "dead_links") == [fact, first]
    before = [await memory.memories.get(each) for each in (fact, first)]
    run = await memory.cleanup.archive("dead_links")
    changed = [await memory.memories.get(each) for each in (fact, first)]
    # An id of another system is no reference to a memory.
    assert changed[0].evidence == (str(kept), str(stranger), link)
    assert (changed[0].status, changed[1].status) == ("active", "archived")
    assert run.changeset_id is not None
    await memory.curation.undo(run.changeset_id)
    after = [await memory.memories.get(each) for each in (fact, first)]
    assert [(each.evidence, each.status, each.superseded_by) for each in after] == [
        (each.evidence, each.status, each.superseded_by) for each in before
    ]


async def test_a_dry_run_shows_what_a_run_changes_and_one_undo_takes_it_back(
    memory: AsyncMemory, rows: Rows
) -> None:
    ids = [await old(memory, rows, f"Alice may like opera {number}.") for number in range(3)]
    before = [await memory.memories.get(each) for each in ids]
    dry = await memory.cleanup.archive("never_recalled", dry_run=True)
    assert (dry.changeset_id, dry.change_count, dry.is_dry_run, dry.is_complete) == (None, 3, True, True)
    assert [await memory.memories.get(each) for each in ids] == before
    assert await memory.curation.list() == []
    run = await memory.cleanup.archive("never_recalled")
    assert run.change_count == 3

    def shown(changes: object) -> list[object]:
        return [(each.memory_id, each.kind, each.before, each.after) for each in changes]  # type: ignore[attr-defined]

    assert shown(run.changes) == shown(dry.changes)
    assert {(await memory.memories.get(each)).status for each in ids} == {"archived"}
    assert await found(memory, "never_recalled") == []
    assert (await memory.audit.list(limit=1))[0].action == "cleanup"
    assert run.changeset_id is not None
    await memory.curation.undo(run.changeset_id)
    assert [(await memory.memories.get(each)).status for each in ids] == ["active"] * 3
    assert await found(memory, "never_recalled") == ids


async def test_some_are_archived_and_those_that_do_not_qualify_any_more_are_named(
    memory: AsyncMemory, rows: Rows
) -> None:
    first, second, third = [await old(memory, rows, f"Alice may like opera {number}.") for number in range(3)]
    await memory.memories.update(second, anchored=True)
    run = await memory.cleanup.archive("never_recalled", memory_ids=[first, second])
    assert (run.change_count, run.left_out) == (1, (second,))
    statuses = [(await memory.memories.get(each)).status for each in (first, second, third)]
    assert statuses == ["archived", "active", "active"]
    nothing = await memory.cleanup.archive("never_recalled", memory_ids=[first])
    assert (nothing.changeset_id, nothing.change_count, nothing.left_out) == (None, 0, (first,))


async def test_lists_and_runs_are_bounded_and_go_on(
    memory: AsyncMemory, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaning, "READ_MAX", 2)
    monkeypatch.setattr(cleaning, "RUN_MAX", 3)
    ids = [
        await old(memory, rows, f"Alice may like {category} {number}.", category=category)
        for category in ("behavioral", "preference")
        for number in range(3)
    ]
    await memory.retain("A new one.", category="behavioral")
    seen: list[UUID] = []
    after = None
    while True:
        page = await memory.cleanup.list("never_recalled", after=after, limit=2)
        seen += [each.memory.memory_id for each in page.candidates]
        after = page.next_after
        if after is None:
            break
    assert seen == ids
    runs = [await memory.cleanup.archive("never_recalled") for _ in range(2)]
    assert [(run.change_count, run.is_complete) for run in runs] == [(3, False), (3, True)]


async def test_counts_are_stored_and_counted_again_when_asked(memory: AsyncMemory, rows: Rows) -> None:
    await old(memory, rows, "Alice may like opera.")
    assert await memory.cleanup.counts() == []
    counts = {each.kind: each for each in await memory.cleanup.counts(refresh=True)}
    assert list(counts) == list(CLEANUP_KINDS)
    assert {kind: each.memory_count for kind, each in counts.items()} == {
        "stale": 0,
        "expired": 0,
        "never_recalled": 1,
        "dead_links": 0,
    }
    await old(memory, rows, "Alice may like ballet.")
    assert {each.kind: each for each in await memory.cleanup.counts()} == counts
    again = {each.kind: each for each in await memory.cleanup.counts(refresh=True)}
    assert again["never_recalled"].memory_count == 2
    assert again["stale"].counted_at > counts["stale"].counted_at
    await memory.admin.erase("alice")
    assert "traces.cleanup_counts" not in rows.counts(memory.tenant.id)


async def test_memories_of_other_owners_are_neither_listed_nor_archived(
    memory: AsyncMemory, rows: Rows
) -> None:
    theirs = await old(memory, rows, "Alice may like opera.")
    bob = memory.scope(owner="bob")
    assert (await bob.cleanup.list("never_recalled")).candidates == ()
    run = await bob.cleanup.archive("never_recalled", memory_ids=[theirs])
    assert (run.change_count, run.left_out) == (0, (theirs,))
    assert (await memory.memories.get(theirs)).status == "active"


async def test_bad_input_is_refused(memory: AsyncMemory) -> None:
    cleanup = memory.cleanup
    with pytest.raises(InvalidInputError, match="kind must be one of"):
        await cleanup.list("old")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="unused_days"):
        await cleanup.list("stale", unused_days=0)
    with pytest.raises(InvalidInputError, match="salience_below"):
        await cleanup.archive("stale", salience_below=2)
    with pytest.raises(InvalidInputError, match="next_after"):
        await cleanup.list("stale", after="expired,")
    with pytest.raises(InvalidInputError, match="Name 1 to 1,000 memories"):
        await cleanup.archive("stale", memory_ids=[])
    with pytest.raises(InvalidInputError, match="memory_ids must be a list of ids"):
        await cleanup.archive("stale", memory_ids="all")
