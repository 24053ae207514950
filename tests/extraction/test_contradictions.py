"""Another value of the same subject and attribute: superseded, added, reviewed or stored as past."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from mnemic.extraction.extracting import extract_batch
from mnemic.extraction.protocol import SourceText
from mnemic.extraction.rules import RulesExtractor
from mnemic.extraction.storing import SourceBatch
from mnemic.record.changesets import undo
from mnemic.record.outdated_memories import REASON_OF_STATEMENTS
from mnemic.runtime.core import Caller
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import MemoryRecord, Provenance, Status
from mnemic.types.scope import Scope
from mnemic.types.statement import ContradictionPolicy
from tests.fresh_tenants import Rows
from tests.opened import core_of

START = datetime(2026, 3, 1, tzinfo=UTC)
SCOPE = Scope("alice", "_global", "test")
EVERY_STATUS: tuple[Status, ...] = ("active", "superseded", "pending_review")


async def say(
    memory: AsyncMemory,
    *texts: str,
    day: int = 0,
    role: str | None = "user",
    policy: ContradictionPolicy | None = None,
    provenance: Provenance | None = None,
) -> None:
    """Retain turns of one day, or notes, and extract what they say."""
    at = START + timedelta(days=day)
    conversation = "c" if role else None
    turns = [{"content": text, "at": at, **({"role": role} if role else {})} for text in texts]
    retained = await memory.retain(turns, conversation=conversation, provenance=provenance)
    sources = [
        SourceText(memory_id, text, role, None, at, place if role else None)
        for place, (memory_id, text) in enumerate(zip(retained.memory_ids, texts, strict=True))
    ]
    provenances = dict.fromkeys(retained.memory_ids, provenance) if provenance else {}
    batch = SourceBatch(SCOPE, sources, RulesExtractor.name, provenances)
    await extract_batch(Caller(core_of(memory), SCOPE), RulesExtractor(), batch, policy=policy)


async def known(memory: AsyncMemory, status: Status = "active") -> list[str]:
    listed = await memory.memories.list(statuses=[status])
    return sorted(each.content for each in listed if each.source == "extracted")


async def one(memory: AsyncMemory, content: str) -> MemoryRecord:
    listed = await memory.memories.list(statuses=EVERY_STATUS)
    return next(each for each in listed if each.content == content)


async def test_a_new_value_supersedes_and_as_of_finds_the_old_one(memory: AsyncMemory) -> None:
    await say(memory, "I live in Bath.")
    before = datetime.now(UTC)
    await say(memory, "I moved to Oslo.", day=9)
    assert await known(memory) == ["The user lives in Oslo."]
    old, new = await one(memory, "The user lives in Bath."), await one(memory, "The user lives in Oslo.")
    assert (old.status, old.superseded_by, old.valid_to) == ("superseded", new.memory_id, new.at)
    then = await memory.recall("Where does the user live?", as_of=before, source="extracted")
    assert [hit.memory.content for hit in then.hits] == ["The user lives in Bath."]
    assert [triple.object for triple in await memory.triples.list()] == ["Oslo"]


async def test_the_change_can_be_undone(memory: AsyncMemory, rows: Rows) -> None:
    await say(memory, "I live in Bath.")
    await say(memory, "I live in Oslo.", day=1)
    (changeset,) = rows.select(
        "SELECT changeset_id, purpose FROM state.changesets WHERE tenant_id = %s", memory.tenant.id
    )
    assert changeset[1] == "contradiction"
    changeset_id = UUID(str(changeset[0]))
    database = core_of(memory).storage.tenant_database
    await database.run(lambda transaction: undo(transaction, "alice", changeset_id))
    assert await known(memory) == ["The user lives in Bath.", "The user lives in Oslo."]
    assert {triple.object for triple in await memory.triples.list()} == {"Bath", "Oslo"}


async def test_values_within_one_batch_and_back_again(memory: AsyncMemory) -> None:
    await say(memory, "I live in Bath.", "I live in Oslo.", "I live in Rome.")
    assert await known(memory) == ["The user lives in Rome."]
    await say(memory, "I live in Bath.", day=2)
    assert await known(memory) == ["The user lives in Bath."]
    await say(memory, "I live in Oslo.", "I live in Bath.", day=3)
    assert await known(memory) == ["The user lives in Bath."]


async def test_many_values_are_added(memory: AsyncMemory) -> None:
    await say(memory, "I love chess.")
    await say(memory, "I love swimming.", day=1)
    assert await known(memory) == ["The user likes chess.", "The user likes swimming."]


async def test_unrelated_statements_stay(memory: AsyncMemory) -> None:
    await say(memory, "Alice works at Acme.", role=None)
    await say(memory, "Alice administers GitHub.", "Bob works at Globex.", day=1, role=None)
    listed = await memory.memories.list()
    assert {each.status for each in listed} == {"active"}
    assert len(listed) == 3


async def test_a_note_is_superseded_by_a_newer_one(memory: AsyncMemory) -> None:
    await say(memory, "Alice works at Acme.", role=None)
    await say(memory, "Alice works at Globex.", day=1, role=None)
    assert [each.content for each in await memory.memories.list()] == ["Alice works at Globex."]


async def test_a_denial_ends_a_value(memory: AsyncMemory) -> None:
    await say(memory, "I work at Acme.", "I love coffee.")
    await say(memory, "I no longer work at Acme.", "I don't like coffee any more.", day=1)
    assert await known(memory) == ["The user no longer likes coffee.", "The user no longer works at Acme."]
    await say(memory, "I work at Acme.", day=2)
    assert "The user works at Acme." in await known(memory)
    assert "The user no longer works at Acme." not in await known(memory)


async def test_liking_and_disliking_exclude_each_other(memory: AsyncMemory) -> None:
    await say(memory, "I love coffee.", "I love tea.")
    await say(memory, "I hate coffee.", day=1)
    assert await known(memory) == ["The user dislikes coffee.", "The user likes tea."]


async def test_the_past_ends_what_was_current_and_supersedes_nothing_else(memory: AsyncMemory) -> None:
    await say(memory, "I live in Bath.", "I work at Acme.")
    await say(memory, "I used to live in Bath.", "I used to work at Globex.", day=1)
    assert await known(memory) == [
        "The user used to live in Bath.",
        "The user used to work at Globex.",
        "The user works at Acme.",
    ]


async def test_an_older_value_that_arrives_late_is_past(memory: AsyncMemory) -> None:
    await say(memory, "I live in Oslo.", day=9)
    await say(memory, "I live in Bath.", day=1)
    assert await known(memory) == ["The user lives in Oslo."]
    old, new = await one(memory, "The user lives in Bath."), await one(memory, "The user lives in Oslo.")
    assert (old.status, old.superseded_by, old.valid_to) == ("superseded", new.memory_id, new.valid_from)


async def test_a_correction_replaces_even_what_prefer_old_keeps(memory: AsyncMemory) -> None:
    await say(memory, "My birthday is on 3 May.")
    await say(memory, "My birthday is on 4 May.", day=1, policy="prefer_old")
    assert await known(memory) == ["The user's birthday is 3 May."]
    assert await known(memory, "superseded") == ["The user's birthday is 4 May."]
    await say(memory, "Actually, my birthday is on 5 May.", day=2, policy="prefer_old")
    assert await known(memory) == ["The user's birthday is 5 May."]
    await say(memory, "Sorry, I haven't written.", day=3)
    assert await known(memory) == ["The user's birthday is 5 May."]


async def test_a_policy_may_ask_for_review(memory: AsyncMemory) -> None:
    await say(memory, "I live in Bath.")
    await say(memory, "I live in Oslo.", day=1, policy="flag_review")
    assert await known(memory) == ["The user lives in Bath."]
    assert await known(memory, "pending_review") == ["The user lives in Oslo."]
    hits = (await memory.recall("Where does the user live?", source="extracted")).hits
    assert [hit.memory.content for hit in hits] == ["The user lives in Bath."]
    claim = await one(memory, "The user lives in Oslo.")
    kinds = {each.kind for each in await memory.memories.related(claim.memory_id)}
    assert kinds == {"derived_from", "contradicts"}


async def test_a_claim_against_an_anchored_memory_waits(memory: AsyncMemory) -> None:
    await say(memory, "I live in Bath.")
    await memory.memories.update((await one(memory, "The user lives in Bath.")).memory_id, anchored=True)
    await say(memory, "I live in Oslo.", "Actually, I live in Rome.", day=1)
    assert await known(memory) == ["The user lives in Bath."]
    assert await known(memory, "pending_review") == ["The user lives in Oslo.", "The user lives in Rome."]


async def test_a_better_source_outranks_a_claim(memory: AsyncMemory) -> None:
    ranks: Sequence[Provenance] = ("witnessed", "reasoned", "measured")
    for day, (provenance, city) in enumerate(zip(ranks, ("Bath", "Oslo", "Rome"), strict=True)):
        await say(memory, f"I live in {city}.", day=day, provenance=provenance)
        assert await known(memory) == [f"The user lives in {city}."]
    await say(memory, "I live in Kyiv.", day=9)
    assert await known(memory) == ["The user lives in Rome."]
    assert await known(memory, "pending_review") == ["The user lives in Kyiv."]


async def test_forgetting_a_turn_hides_what_rests_on_it_alone(memory: AsyncMemory) -> None:
    await say(memory, "I live in Bath.", "I love chess.")
    await say(memory, "I really love chess.", day=1)
    turns = await memory.conversations.turns("c")
    await memory.memories.forget(turns[0].memory_id)
    await memory.memories.forget(turns[1].memory_id)
    assert await known(memory) == ["The user likes chess."]
    assert [triple.object for triple in await memory.triples.list()] == ["chess"]
    await memory.memories.restore(turns[0].memory_id)
    assert await known(memory) == ["The user likes chess.", "The user lives in Bath."]
    assert {triple.object for triple in await memory.triples.list()} == {"chess", "Bath"}


@pytest.mark.parametrize("owner", ["bob"])
async def test_owners_do_not_contradict_each_other(memory: AsyncMemory, owner: str) -> None:
    await say(memory, "I live in Bath.")
    other = memory.scope(owner=owner)
    retained = await other.retain("I live in Oslo.", role="user", conversation="d")
    scope = Scope(owner, "_global", "test")
    source = SourceText(retained.memory_ids[0], "I live in Oslo.", "user", None, START, 0)
    caller = Caller(core_of(memory), scope)
    await extract_batch(caller, RulesExtractor(), SourceBatch(scope, [source], RulesExtractor.name))
    assert await known(memory) == ["The user lives in Bath."]
    assert await known(other) == ["The user lives in Oslo."]


async def test_the_turn_of_a_superseded_statement_is_marked_whatever_its_wording(memory: AsyncMemory) -> None:
    old, new = "I've been vegetarian since 2010.", "I went vegan in May."
    filler = [f"Item {number} of the minutes is about the budget of group {number}." for number in range(40)]
    await say(memory, *filler, role=None)
    await say(memory, old, "I've been vegetarian since 2010. By the way, could you order pens?")
    await say(memory, new, day=2)
    marks = {mark.memory_id: mark for mark in await memory.memories.outdated()}
    turns = {each.content: each.memory_id for each in await memory.conversations.turns("c")}
    mark = marks[turns[old]]
    assert (mark.outdated_by, mark.attribute, mark.reason) == (turns[new], "diet", REASON_OF_STATEMENTS)
    assert marks.keys() == {turns[old]}, "the other turn says more than that"
    found = await memory.recall("Who has been vegetarian since 2010?", refuse_below=0, limit=50)
    contents = [hit.memory.content for hit in found]
    assert contents.index(new) < contents.index(old)


async def test_undoing_the_change_removes_the_mark_of_the_turn(memory: AsyncMemory) -> None:
    await say(memory, "I've been vegetarian since 2010.")
    await say(memory, "I went vegan in May.", day=2)
    (changeset,) = await memory.curation.list()
    assert [mark.reason for mark in await memory.memories.outdated()] == [REASON_OF_STATEMENTS]
    await memory.curation.undo(changeset.changeset_id)
    assert await memory.memories.outdated() == []
