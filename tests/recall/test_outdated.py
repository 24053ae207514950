"""A memory about the same as a newer one is marked as outdated, and recall ranks the newer one above it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.recall.query_tense import asks_for_past
from mnemic.sdk.memory import AsyncMemory
from tests.accepted_grants import accepted_grant
from tests.waiting import wait_for_async

OLD, NEW = "The capital of Ruritania is Strelsau.", "The capital of Ruritania is Zenda."
QUESTION = "What is the capital of Ruritania?"


async def store(memory: AsyncMemory, **fields: Any) -> tuple[UUID, UUID]:
    """The older and the newer memory; the newer one is stored first."""
    (newer,) = (await memory.retain(NEW, at="2026-06-01T00:00:00Z", **fields)).memory_ids
    (older,) = (await memory.retain(OLD, at="2026-01-01T00:00:00Z", **fields)).memory_ids
    await memory.retain("Goats climb trees.", at="2026-02-01T00:00:00Z", **fields)
    return older, newer


async def contents(memory: AsyncMemory, query: str = QUESTION, **options: object) -> list[str]:
    found = await memory.recall(query, refuse_below=0, **options)  # type: ignore[arg-type]
    return [hit.memory.content for hit in found if "capital" in hit.memory.content]


async def test_the_older_memory_is_marked_with_a_reason(memory: AsyncMemory) -> None:
    older, newer = await store(memory)
    (mark,) = await memory.memories.outdated()
    assert (mark.memory_id, mark.outdated_by, mark.decision) == (older, newer, "found")
    assert mark.reason
    assert await memory.memories.outdated(memory_id=newer) == []
    assert (await memory.memories.get(older)).outdated_by == newer
    assert (await memory.memories.get(newer)).outdated_by is None
    assert (await memory.memories.history(older))[-1].outdated_by == newer


async def test_a_mark_is_found_soon_after_storing_without_being_asked_for(memory: AsyncMemory) -> None:
    older, newer = await store(memory)

    async def is_marked() -> bool:
        return (await memory.memories.get(older)).outdated_by == newer

    await wait_for_async(is_marked)


async def test_the_newer_memory_ranks_first_and_explain_says_why(memory: AsyncMemory) -> None:
    _, newer = await store(memory)
    await memory.memories.outdated()
    found = await memory.recall(QUESTION, refuse_below=0, explain=True)
    first, second = [hit for hit in found if "capital" in hit.memory.content]
    assert (first.memory.content, second.memory.content) == (NEW, OLD)
    assert first.outdated_since is None
    assert second.memory.outdated_by == newer
    assert second.outdated_since == datetime(2026, 6, 1, tzinfo=UTC)
    assert second.explain is not None
    assert second.explain.outdated_reason
    assert second.explain.scores["outdated"] < 0
    assert "[2026-01-01, outdated since 2026-06-01]" in found.text


async def test_a_query_about_the_past_ranks_the_older_memory_first(memory: AsyncMemory) -> None:
    await store(memory)
    await memory.memories.outdated()
    assert await contents(memory, "What was the capital of Ruritania originally?") == [OLD, NEW]
    assert await contents(memory, "What is the capital of Ruritania now?") == [NEW, OLD]


async def test_words_of_a_query_choose_between_past_and_present() -> None:
    past = (
        "Where did I live before?",
        "Who used to be my boss?",
        "my previous job",
        "my first flat",
        "my ex-wife",
    )
    assert all(asks_for_past(query) for query in past)
    present = ("Where do I live?", "How old is Ana?", "Can I call before 11?", "Do I still have my old car?")
    assert not any(asks_for_past(query) for query in (*present, "When did she first know?"))


async def test_a_wrong_mark_can_be_undone_and_is_not_found_again(memory: AsyncMemory) -> None:
    older, newer = await store(memory)
    await memory.memories.outdated()
    await memory.memories.decide_outdated(older, newer, "current")
    await memory.memories.update(older, content=OLD.replace("Strelsau", "Hentzau"))
    assert await memory.memories.outdated() == []
    assert (await memory.memories.get(older)).outdated_by is None
    await memory.memories.decide_outdated(older, newer, "outdated", reason="The court moved.")
    (mark,) = await memory.memories.outdated()
    assert (mark.reason, mark.certainty, mark.decision) == ("The court moved.", 1.0, "outdated")


async def test_only_two_memories_of_the_owner_can_be_decided_about(memory: AsyncMemory) -> None:
    older, newer = await store(memory)
    with pytest.raises(NotFoundError):
        await memory.memories.decide_outdated(older, uuid4(), "outdated")
    with pytest.raises(NotFoundError):
        await memory.memories.decide_outdated(older, newer, "outdated", owner="somebody")
    with pytest.raises(InvalidInputError):
        await memory.memories.decide_outdated(older, older, "outdated")
    with pytest.raises(InvalidInputError):
        await memory.memories.decide_outdated(older, newer, "wrong")  # type: ignore[arg-type]


async def test_before_the_newer_memory_was_known_nothing_was_outdated(memory: AsyncMemory) -> None:
    (older,) = (await memory.retain(OLD, at="2026-01-01T00:00:00Z")).memory_ids
    before = datetime.now(UTC)
    await memory.retain(NEW, at="2026-06-01T00:00:00Z")
    assert len(await memory.memories.outdated()) == 1
    (hit,) = (await memory.recall(QUESTION, refuse_below=0, as_of=before)).hits
    assert (hit.memory.memory_id, hit.memory.outdated_by, hit.outdated_since) == (older, None, None)


async def test_a_forgotten_or_erased_newer_memory_outdates_nothing(memory: AsyncMemory) -> None:
    older, newer = await store(memory)
    await memory.memories.outdated()
    await memory.memories.forget(newer)
    assert await memory.memories.outdated() == []
    assert (await memory.memories.get(older)).outdated_by is None
    assert await contents(memory) == [OLD]


async def test_other_channels_and_owners_outdate_nothing(memory: AsyncMemory) -> None:
    await memory.retain(OLD, at="2026-01-01T00:00:00Z", channel="work")
    await memory.retain(NEW, at="2026-06-01T00:00:00Z", channel="home")
    await memory.retain(NEW, at="2026-06-01T00:00:00Z", channel="work", owner="somebody")
    assert await memory.memories.outdated() == []
    assert await memory.memories.outdated(owner="somebody") == []


async def test_the_reader_of_a_grant_sees_no_marks(memory: AsyncMemory) -> None:
    """Whether a mark was found depends on all memories of the giver, and the newer one may be closed."""
    await memory.retain(OLD, at="2026-01-01T00:00:00Z", tags=["open"])
    await memory.retain(NEW, at="2026-06-01T00:00:00Z")
    assert len(await memory.memories.outdated()) == 1
    await accepted_grant(memory, "bob", tags=["open"])
    found = await memory.recall(QUESTION, refuse_below=0, owner="bob", explain=True)
    (hit,) = found.hits
    assert (hit.memory.content, hit.memory.outdated_by, hit.outdated_since) == (OLD, None, None)
    assert "outdated" not in found.text


async def test_marks_are_exported_imported_and_erased_with_their_owner(
    memory: AsyncMemory, tmp_path: Path
) -> None:
    older, newer = await store(memory)
    await memory.memories.decide_outdated(older, newer, "outdated", reason="The court moved.")
    await memory.admin.export(tmp_path / "owner")
    await memory.admin.erase("alice")
    assert await memory.memories.outdated() == []
    await memory.admin.import_(tmp_path / "owner")
    (mark,) = await memory.memories.outdated()
    assert (mark.memory_id, mark.outdated_by, mark.reason) == (older, newer, "The court moved.")


VALUES = ("Zenda", "Hentzau", "Tarlenheim", "Modenstein")


async def store_chain(memory: AsyncMemory) -> None:
    """One value after the other, and unrelated memories."""
    for month, value in enumerate(VALUES, start=1):
        await memory.retain(f"The capital of Ruritania is {value}.", at=f"2026-0{month}-01T00:00:00Z")
    await memory.retain_many(
        [f"Goats climb {tree} trees in Ruritania." for tree in ("argan", "oak", "fig", "ash")]
    )


async def test_recall_knows_the_newest_of_a_chain_before_anything_was_compared(memory: AsyncMemory) -> None:
    await store_chain(memory)
    found = (await memory.recall(QUESTION, refuse_below=0, limit=5)).hits
    assert VALUES[-1] in found[0].memory.content
    assert not any(value in hit.memory.content for hit in found[1:] for value in VALUES)
    everything = (await memory.recall(QUESTION, refuse_below=0, limit=10)).hits
    outdated = [hit for hit in everything if hit.outdated_since is not None]
    assert len(outdated) == len(VALUES) - 1


async def test_every_older_value_of_a_chain_is_marked(memory: AsyncMemory) -> None:
    await store_chain(memory)
    marks = await memory.memories.outdated()
    assert len({mark.memory_id for mark in marks}) == len(VALUES) - 1
    assert len(marks) == len(VALUES) * (len(VALUES) - 1) // 2
    assert {mark.attribute for mark in marks} == {"capital"}


async def test_older_values_are_found_among_many_nearer_neighbours(memory: AsyncMemory) -> None:
    (older,) = (await memory.retain(OLD, at="2026-01-01T00:00:00Z")).memory_ids
    near = [f"The capital of Ruritania has {count} towers of Ruritania." for count in range(60)]
    await memory.retain_many(near)
    (newer,) = (await memory.retain(NEW, at="2026-06-01T00:00:00Z")).memory_ids
    marks = await memory.memories.outdated(memory_id=older)
    assert newer in {mark.outdated_by for mark in marks}


async def test_a_decision_that_a_value_is_current_holds_in_recall(memory: AsyncMemory) -> None:
    older, newer = await store(memory)
    await memory.memories.decide_outdated(older, newer, "current")
    found = await memory.recall(QUESTION, refuse_below=0)
    assert all(hit.outdated_since is None for hit in found)


async def test_what_two_speakers_say_about_themselves_is_not_compared(memory: AsyncMemory) -> None:
    for name, manager in (("Jo", "Lena"), ("Ana", "Omar")):
        await memory.retain(f"My manager is {manager}.", role="user", name=name, conversation="lunch")
    assert await memory.memories.outdated() == []
    found = await memory.recall("Who is my manager?", refuse_below=0)
    assert all(hit.outdated_since is None for hit in found)
