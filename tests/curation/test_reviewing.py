"""Pairs that wait for a decision: listed with both memories, decided, and taken back exactly."""

from uuid import UUID, uuid4

import pytest

from mnemic.db.database import TenantDatabase
from mnemic.errors import ChangeConflictError, ConflictError, InvalidInputError, NotFoundError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import MemoryRecord
from mnemic.types.review import ReviewKind, ReviewPair
from tests.curation.stores import duplicates, quarantined
from tests.fresh_tenants import Rows


async def near_pair(memory: AsyncMemory) -> tuple[UUID, UUID]:
    """The older and the newer of two near duplicates, compared already."""
    pair = await duplicates(memory)
    await memory.memories.near_duplicates()
    return pair


async def contradicting_pair(memory: AsyncMemory, rows: Rows) -> tuple[UUID, UUID]:
    """An older memory and a newer one that was found to outdate it."""
    older, newer = (
        await memory.retain(["The office of Acme is large.", "Paul sold his old red car."])
    ).memory_ids
    await memory.memories.outdated()
    rows.run(f"DELETE FROM state.outdated_memories WHERE older_id = '{older}'")
    rows.run(
        "INSERT INTO state.outdated_memories (tenant_id, older_id, newer_id, attribute, reason, certainty)"
        f" VALUES ('{memory.tenant.id}', '{older}', '{newer}', 'home', 'Another home.', 0.9)"
    )
    return older, newer


async def claim_pair(memory: AsyncMemory, database: TenantDatabase) -> tuple[UUID, UUID]:
    """An anchored memory and a claim against it, in quarantine."""
    claim = await quarantined(memory, database)
    (kept,) = (await memory.retain("Alice lives in Rome.", anchored=True)).memory_ids
    await memory.memories.relate(claim, kept, "contradicts")
    return kept, claim


async def only(memory: AsyncMemory, kind: ReviewKind) -> ReviewPair:
    (pair,) = (await memory.curation.pairs(kind)).pairs
    return pair


async def states(memory: AsyncMemory, *ids: UUID) -> list[MemoryRecord]:
    return [await memory.memories.get(each) for each in ids]


def essence(record: MemoryRecord) -> tuple[object, ...]:
    """What a change of a decision may change."""
    return (
        record.status,
        record.superseded_by,
        record.merged_into,
        record.valid_to,
        record.tags,
        record.evidence,
        record.outdated_by,
    )


async def test_pairs_have_both_memories_and_are_counted(
    memory: AsyncMemory, tenant_database: TenantDatabase, rows: Rows
) -> None:
    older, newer = await near_pair(memory)
    old_home, new_home = await contradicting_pair(memory, rows)
    kept, claim = await claim_pair(memory, tenant_database)
    await memory.memories.near_duplicates()
    near = await only(memory, "near_duplicate")
    assert (near.memory, near.other) == tuple(await states(memory, newer, older))
    assert near.similarity is not None
    assert near.similarity > 0.95
    contradiction = await only(memory, "contradiction")
    assert contradiction.other is not None
    assert (contradiction.memory.memory_id, contradiction.other.memory_id) == (new_home, old_home)
    assert (contradiction.attribute, contradiction.reason) == ("home", "Another home.")
    quarantine = await only(memory, "quarantine")
    assert quarantine.other is not None
    assert (quarantine.memory.memory_id, quarantine.other.memory_id) == (claim, kept)
    assert quarantine.reason == "It awaits a review."
    waiting = await memory.curation.waiting()
    assert (waiting.near_duplicate_count, waiting.contradiction_count, waiting.quarantined_count) == (1, 1, 1)
    assert (waiting.staged_change_count, waiting.total_count, waiting.uncompared_count) == (0, 3, 0)


@pytest.mark.usefixtures("no_comparisons")
async def test_listing_compares_nothing_and_says_how_many_wait(memory: AsyncMemory) -> None:
    await duplicates(memory)
    page = await memory.curation.pairs("near_duplicate")
    assert (page.pairs, page.next_before, page.uncompared_count) == ((), None, 2)
    assert (await memory.curation.waiting()).uncompared_count == 2


async def test_turns_are_in_no_pair(memory: AsyncMemory) -> None:
    turns = [{"role": "user", "content": text} for text in ("I like green tea.", "I like green tea!")]
    await memory.retain(turns, conversation="c")
    assert len(await memory.memories.near_duplicates()) == 1
    assert (await memory.curation.pairs("near_duplicate")).pairs == ()
    assert (await memory.curation.waiting()).total_count == 0


async def test_pages_follow_each_other_and_inactive_pairs_are_passed(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemic.curation.reviewing.READ_MAX", 2)
    ids = []
    for number in range(5):
        text = f"The club {number} of {uuid4()} meets daily"
        ids.append((await memory.retain([f"{text}.", f"{text}!"])).memory_ids)
    await memory.memories.near_duplicates()
    for _, newer in ids[2:4]:
        await memory.memories.forget(newer)
    seen, before, page_count = [], None, 0
    while True:
        page = await memory.curation.pairs("near_duplicate", before=before, limit=1)
        seen += [pair.memory.memory_id for pair in page.pairs]
        before, page_count = page.next_before, page_count + 1
        if before is None:
            break
    assert seen == [ids[number][1] for number in (4, 1, 0)]
    assert page_count <= 5


@pytest.mark.parametrize("decision", ["keep_new", "keep_old"])
async def test_a_merge_unites_tags_and_undo_restores_both(memory: AsyncMemory, decision: str) -> None:
    older, newer = await near_pair(memory)
    before = [essence(each) for each in await states(memory, older, newer)]
    done = await memory.curation.resolve("near_duplicate", newer, older, decision=decision)  # type: ignore[arg-type]
    retired, kept = (older, newer) if decision == "keep_new" else (newer, older)
    gone, stays = await states(memory, retired, kept)
    assert (gone.status, gone.merged_into, stays.status) == ("merged", kept, "active")
    assert stays.tags == ("drinks", "habits")
    assert (await memory.curation.pairs("near_duplicate")).pairs == ()
    assert done.changeset_id is not None
    await memory.curation.undo(done.changeset_id)
    assert [essence(each) for each in await states(memory, older, newer)] == before
    assert (await only(memory, "near_duplicate")).memory.memory_id == newer


@pytest.mark.parametrize("decision", ["keep_new", "keep_old", "keep_both"])
async def test_a_contradiction_is_decided_and_taken_back(
    memory: AsyncMemory, rows: Rows, decision: str
) -> None:
    older, newer = await contradicting_pair(memory, rows)
    before = [essence(each) for each in await states(memory, older, newer)]
    done = await memory.curation.resolve("contradiction", newer, older, decision=decision)  # type: ignore[arg-type]
    old, new = await states(memory, older, newer)
    expected = {
        "keep_new": ("superseded", "active"),
        "keep_old": ("active", "archived"),
        "keep_both": ("active", "active"),
    }
    assert (old.status, new.status) == expected[decision]
    if decision == "keep_new":
        assert (old.superseded_by, old.valid_to is not None) == (newer, True)
        (edge,) = await memory.memories.related(newer)
        assert (edge.from_id, edge.to_id, edge.kind) == (newer, older, "supersedes")
    else:
        assert old.outdated_by is None
    assert (await memory.curation.waiting()).contradiction_count == 0
    if done.changeset_id is None:
        await memory.curation.reopen("contradiction", newer, older)
    else:
        await memory.curation.undo(done.changeset_id)
    assert [essence(each) for each in await states(memory, older, newer)] == before
    assert await memory.memories.related(newer) == []
    assert (await only(memory, "contradiction")).certainty == pytest.approx(0.9)


@pytest.mark.usefixtures("no_comparisons")
@pytest.mark.parametrize("decision", ["keep_new", "keep_old", "keep_both"])
async def test_a_claim_in_quarantine_is_decided_and_taken_back(
    memory: AsyncMemory, tenant_database: TenantDatabase, decision: str
) -> None:
    kept, claim = await claim_pair(memory, tenant_database)
    before = [essence(each) for each in await states(memory, kept, claim)]
    done = await memory.curation.resolve("quarantine", claim, kept, decision=decision)  # type: ignore[arg-type]
    old, new = await states(memory, kept, claim)
    expected = {
        "keep_new": ("superseded", "active"),
        "keep_old": ("active", "archived"),
        "keep_both": ("active", "active"),
    }
    assert (old.status, new.status) == expected[decision]
    assert done.changeset_id is not None
    await memory.curation.undo(done.changeset_id)
    assert [essence(each) for each in await states(memory, kept, claim)] == before
    assert (await only(memory, "quarantine")).memory.memory_id == claim


async def test_a_decision_that_came_too_late_changes_nothing(memory: AsyncMemory) -> None:
    older, newer = await near_pair(memory)
    await memory.memories.tag(newer, "read")
    with pytest.raises(ConflictError, match="was changed meanwhile: it has version 2, you saw version 1"):
        await memory.curation.resolve(
            "near_duplicate", newer, older, decision="keep_new", memory_version=1, other_version=1
        )
    await memory.curation.resolve("near_duplicate", newer, older, decision="keep_both")
    with pytest.raises(ConflictError, match="somebody decided already"):
        await memory.curation.resolve("near_duplicate", newer, older, decision="keep_new")
    await memory.curation.reopen("near_duplicate", newer, older)
    await memory.memories.forget(older)
    with pytest.raises(ConflictError, match="is forgotten by now"):
        await memory.curation.resolve("near_duplicate", newer, older, decision="keep_new")
    assert (await memory.memories.get(newer)).status == "active"


async def test_undo_names_what_stands_in_the_way(memory: AsyncMemory) -> None:
    older, newer = await near_pair(memory)
    done = await memory.curation.resolve("near_duplicate", newer, older, decision="keep_new")
    await memory.memories.tag(newer, "edited")
    assert done.changeset_id is not None
    with pytest.raises(ChangeConflictError, match=f"{newer} was changed after"):
        await memory.curation.undo(done.changeset_id)
    assert (await memory.curation.pairs("near_duplicate")).pairs == ()


async def test_bad_input_is_refused(memory: AsyncMemory, tenant_database: TenantDatabase) -> None:
    older, newer = await near_pair(memory)
    kept, claim = await claim_pair(memory, tenant_database)
    curation = memory.curation
    with pytest.raises(InvalidInputError, match="kind must be one of"):
        await curation.pairs("both")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="before"):
        await curation.pairs("contradiction", before="yesterday")
    with pytest.raises(InvalidInputError, match="decision must be one of"):
        await curation.resolve("near_duplicate", newer, older, decision="merge")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="other_id is missing"):
        await curation.resolve("near_duplicate", newer, decision="keep_new")
    with pytest.raises(NotFoundError, match="There is no memory"):
        await curation.resolve("near_duplicate", newer, uuid4(), decision="keep_new")
    with pytest.raises(NotFoundError, match="There is no memory"):
        await curation.resolve("near_duplicate", newer, older, decision="keep_new", owner="bob")
    with pytest.raises(NotFoundError, match="do not contradict each other"):
        await curation.resolve("quarantine", claim, newer, decision="keep_new")
    with pytest.raises(ConflictError, match="no such pair"):
        await curation.resolve("near_duplicate", newer, kept, decision="keep_both")
    with pytest.raises(NotFoundError, match="decided by keeping both"):
        await curation.reopen("near_duplicate", newer, older)
    with pytest.raises(InvalidInputError, match="undone by its changeset"):
        await curation.reopen("quarantine", claim, kept)
    assert [act.action for act in await memory.audit.list(limit=1)] == ["resolve_review"]
