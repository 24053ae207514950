"""What the curator proposes, what it leaves alone, and that it proposes nothing twice."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from mnemic.curation import candidates, proposing
from mnemic.db.database import TenantDatabase
from mnemic.errors import InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.curation import ChangeDiff, CurationRun
from tests.curation.stores import LONG_AGO, duplicates, outdated_pair, quarantined, weak
from tests.fresh_tenants import Rows

pytestmark = pytest.mark.usefixtures("no_comparisons")


def proposed(run: CurationRun) -> dict[UUID, ChangeDiff]:
    return {change.memory_id: change for change in run.changes}


async def test_nothing_is_proposed_for_an_empty_store(memory: AsyncMemory, rows: Rows) -> None:
    run = await memory.curation.propose()
    assert (run.changeset_id, run.changes, run.is_complete) == (None, (), True)
    assert run.text == "There is nothing to propose."
    assert await memory.curation.list() == []


async def test_an_outdated_memory_is_superseded_from_the_time_of_the_newer_one(memory: AsyncMemory) -> None:
    older, newer = await outdated_pair(memory)
    run = await memory.curation.propose()
    change = proposed(run)[older]
    assert (change.kind, change.other_id) == ("supersede", newer)
    assert change.before == {"status": "active", "superseded_by": None, "valid_to": None}
    assert (change.after["status"], change.after["superseded_by"]) == ("superseded", str(newer))
    assert datetime.fromisoformat(change.after["valid_to"]) == (await memory.memories.get(newer)).created_at
    assert change.signals["contradiction"] == 1
    assert (run.counts, run.read_count) == ({"supersede": 1, "keep": 1}, 2)


async def test_a_weaker_provenance_does_not_supersede_a_stronger_one(memory: AsyncMemory) -> None:
    (older,) = (await memory.retain("The disk has 4 TB.", provenance="measured")).memory_ids
    (newer,) = (await memory.retain("The disk has 8 TB.")).memory_ids
    await memory.memories.decide_outdated(older, newer, "outdated")
    assert (await memory.curation.propose()).changes == ()


async def test_an_uncertain_mark_stays_a_mark(memory: AsyncMemory, rows: Rows) -> None:
    older, _ = await outdated_pair(memory)
    rows.run(f"UPDATE state.outdated_memories SET certainty = 0.5 WHERE older_id = '{older}'")
    assert (await memory.curation.propose()).changes == ()


async def test_duplicates_are_merged_into_the_better_one_with_tags_and_evidence_of_both(
    memory: AsyncMemory,
) -> None:
    weaker, better = await duplicates(memory)
    run = await memory.curation.propose()
    merged, kept = proposed(run)[weaker], proposed(run)[better]
    assert (merged.kind, merged.after) == ("merge", {"status": "merged", "merged_into": str(better)})
    assert (kept.kind, kept.after) == ("merge", {"tags": ["drinks", "habits"], "evidence": ["a note"]})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The train leaves at 9:15 from Basel every day.", "The train leaves at 9:45 from Basel every day."),
        (
            "Anna feeds the two grey cats of the old neighbour.",
            "Ben feeds the two grey cats of the old neighbour.",
        ),
        ("Alice eats fish and meat at home.", "Alice never eats fish and meat at home."),
        ("Ann reports to Ben in the Oslo office.", "Ben reports to Ann in the Oslo office."),
        ("Her cousin keeps black sheep on a farm.", "Her cousin keeps white sheep on a farm."),
    ],
)
async def test_similar_memories_that_say_something_else_are_not_merged(
    memory: AsyncMemory, rows: Rows, one: str, other: str
) -> None:
    first, second = (await memory.retain([one, other])).memory_ids
    rows.run(
        "INSERT INTO state.near_duplicates (tenant_id, memory_id, like_id, similarity)"
        f" VALUES ('{memory.tenant.id}', '{second}', '{first}', 0.99) ON CONFLICT DO NOTHING"
    )
    run = await memory.curation.propose(kinds=["merge"])
    assert run.changes == ()


async def test_a_contradiction_of_a_stronger_memory_is_archived(memory: AsyncMemory) -> None:
    (claim,) = (await memory.retain("The server has two disks.")).memory_ids
    (fact,) = (await memory.retain("Four disks were counted.", provenance="measured")).memory_ids
    await memory.memories.relate(claim, fact, "contradicts")
    change = proposed(await memory.curation.propose())[claim]
    assert (change.kind, change.evidence) == ("archive", (fact,))
    assert change.reason == "It contradicts a memory that is measured, while this one is witnessed."


async def test_weak_unused_memories_are_archived_and_forgotten_only_much_later(
    memory: AsyncMemory, rows: Rows
) -> None:
    memory_id = await weak(memory, rows)
    run = await memory.curation.propose()
    assert proposed(run)[memory_id].kind == "archive"
    assert run.changeset_id is not None
    await memory.curation.approve(run.changeset_id)
    await memory.curation.apply(run.changeset_id)
    assert (await memory.curation.propose()).changes == ()
    rows.run(f"UPDATE state.memories SET recorded_at = {LONG_AGO} WHERE memory_id = '{memory_id}'")
    pruned = await memory.curation.propose()
    assert proposed(pruned)[memory_id].kind == "prune"
    assert pruned.changeset_id is not None
    change_ids = [change.change_id for change in pruned.changes]
    await memory.curation.apply(pruned.changeset_id, change_ids=change_ids)
    assert (await memory.memories.get(memory_id)).deleted_at is not None
    await memory.curation.undo(pruned.changeset_id)
    assert (await memory.memories.get(memory_id)).deleted_at is None


@pytest.mark.parametrize(
    "options",
    [{"anchored": True}, {"source": "user_provided"}, {"provenance": "measured"}, {"confidence": 0.9}],
)
async def test_memories_that_are_not_weak_are_kept(
    memory: AsyncMemory, rows: Rows, options: dict[str, Any]
) -> None:
    given = {"source": "extracted", "confidence": 0.5, **options}
    (memory_id,) = (await memory.retain("Alice may like opera.", **given)).memory_ids
    rows.run(f"UPDATE state.memories SET created_at = {LONG_AGO} WHERE memory_id = '{memory_id}'")
    assert (await memory.curation.propose()).changes == ()


async def test_turns_documents_and_anchored_memories_are_no_candidates(
    memory: AsyncMemory, rows: Rows
) -> None:
    turn = {"role": "user", "content": "Alice lives in Berlin.", "source": "extracted", "confidence": 0.1}
    await memory.retain(turn, conversation="c")
    await memory.retain("Alice lived in Rome.", category="episodic", source="extracted", confidence=0.1)
    await memory.retain("A page of a manual.", category="reference", source="imported", confidence=0.1)
    await memory.retain("Alice lives in Oslo.", anchored=True, source="extracted", confidence=0.1)
    rows.run(f"UPDATE state.memories SET created_at = {LONG_AGO} WHERE tenant_id = '{memory.tenant.id}'")
    found = {record.content: record.memory_id for record in await memory.memories.list()}
    await memory.memories.decide_outdated(
        found["Alice lives in Berlin."], found["Alice lives in Oslo."], "outdated"
    )
    run = await memory.curation.propose()
    assert (run.read_count, run.changes) == (0, ())


async def test_a_confirmed_memory_that_waits_for_review_is_promoted(
    memory: AsyncMemory, tenant_database: TenantDatabase
) -> None:
    memory_id = await quarantined(memory, tenant_database)
    assert proposed(await memory.curation.propose())[memory_id].after == {"status": "active"}


async def test_a_claim_against_an_anchored_memory_is_never_promoted(
    memory: AsyncMemory, tenant_database: TenantDatabase
) -> None:
    claim = await quarantined(memory, tenant_database)
    (fact,) = (await memory.retain("Alice lives in Rome.", anchored=True)).memory_ids
    await memory.memories.relate(claim, fact, "contradicts")
    assert (await memory.curation.propose()).changes == ()


async def test_a_dry_run_shows_the_same_and_writes_nothing(memory: AsyncMemory, rows: Rows) -> None:
    older, _ = await outdated_pair(memory)
    await memory.memories.near_duplicates()  # Compares pending memories, as a run does.
    before = rows.counts(memory.tenant.id)
    dry = await memory.curation.propose(dry_run=True)
    assert (dry.changeset_id, dry.is_dry_run, list(proposed(dry))) == (None, True, [older])
    assert rows.counts(memory.tenant.id) == before
    real = await memory.curation.propose()
    assert real.counts == dry.counts


async def test_an_open_proposal_is_not_made_again(memory: AsyncMemory) -> None:
    await outdated_pair(memory)
    assert (await memory.curation.propose()).changeset_id is not None
    again = await memory.curation.propose()
    assert (again.changeset_id, again.changes) == (None, ())
    assert len(await memory.curation.list()) == 1


async def test_a_rejected_proposal_is_made_again_only_after_the_memory_changed(memory: AsyncMemory) -> None:
    older, _ = await outdated_pair(memory)
    run = await memory.curation.propose()
    assert run.changeset_id is not None
    await memory.curation.reject(run.changeset_id)
    assert (await memory.curation.propose()).changes == ()
    await memory.memories.update(older, tags=["home"])
    assert list(proposed(await memory.curation.propose())) == [older]


async def test_an_undone_proposal_is_made_again_only_after_the_memory_changed(memory: AsyncMemory) -> None:
    older, _ = await outdated_pair(memory)
    run = await memory.curation.propose()
    assert run.changeset_id is not None
    await memory.curation.approve(run.changeset_id)
    await memory.curation.apply(run.changeset_id)
    await memory.curation.undo(run.changeset_id)
    assert (await memory.curation.propose()).changes == ()
    await memory.memories.update(older, tags=["home"])
    assert list(proposed(await memory.curation.propose())) == [older]


async def test_a_run_continues_where_the_last_one_stopped(
    memory: AsyncMemory, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "PAGE_ROWS", 2)
    monkeypatch.setattr(proposing, "PAGE_ROWS", 2)
    monkeypatch.setattr(proposing, "CANDIDATES_MAX", 4)
    ids = [
        await weak(memory, rows, f"Alice may like {thing}.")
        for thing in ("opera", "jazz", "folk", "rock", "soul")
    ]
    first, second = await memory.curation.propose(), await memory.curation.propose()
    assert (list(proposed(first)), first.is_complete) == (ids[:4], False)
    assert (list(proposed(second)), second.is_complete) == (ids[4:], True)


async def test_a_limit_stops_a_run_and_the_next_one_continues(memory: AsyncMemory, rows: Rows) -> None:
    ids = [await weak(memory, rows, f"Alice may like {thing}.") for thing in ("opera", "jazz", "folk")]
    first = await memory.curation.propose(limit=2)
    assert (list(proposed(first)), first.is_complete) == (ids[:2], False)
    assert list(proposed(await memory.curation.propose(limit=2))) == ids[2:]


async def test_too_many_open_changes_stop_proposing(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await outdated_pair(memory)
    await memory.curation.propose()
    monkeypatch.setattr(proposing, "OPEN_CHANGES_MAX", 1)
    run = await memory.curation.propose()
    assert run.notes == ("1 changes wait for a decision: approve or reject some first.",)


async def test_a_memory_that_changes_while_the_curator_reads_is_left_out(
    memory: AsyncMemory, tenant_database: TenantDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    older, _ = await outdated_pair(memory)
    read = proposing._read

    async def read_and_anchor(*arguments: Any) -> Any:
        reading = await read(*arguments)
        await memory.memories.update(older, anchored=True)
        return reading

    monkeypatch.setattr(proposing, "_read", read_and_anchor)
    assert (await memory.curation.propose()).changes == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": ["delete"]}, "kinds must be one of"),
        ({"kinds": "merge"}, "kinds must be a list"),
        ({"kinds": []}, "kinds must be a list"),
        ({"limit": 0}, "limit must be a whole number from 1 to 200"),
        ({"dry_run": "yes"}, "dry_run must be True or False"),
    ],
)
async def test_bad_options_are_refused(memory: AsyncMemory, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        await memory.curation.propose(**options)


async def test_valid_to_never_precedes_valid_from(memory: AsyncMemory) -> None:
    (older,) = (
        await memory.retain("The lease runs.", valid_from=datetime(2030, 1, 1, tzinfo=UTC))
    ).memory_ids
    (newer,) = (await memory.retain("The lease was cancelled.")).memory_ids
    await memory.memories.decide_outdated(older, newer, "outdated")
    assert "valid_to" not in proposed(await memory.curation.propose())[older].after
