"""Feedback: one verdict per conversation, counted exactly, on the owner's own memories."""

import asyncio
from uuid import UUID, uuid4

import pytest

from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.record import feedback
from mnemic.sdk.memory import AsyncMemory
from tests.accepted_grants import accepted_grant
from tests.fresh_tenants import Rows
from tests.many_writers import WRITERS


async def retained(memory: AsyncMemory, text: str = "Alice drinks tea.", **options: str) -> UUID:
    (memory_id,) = (await memory.retain(text, **options)).memory_ids  # type: ignore[arg-type]
    return memory_id


async def test_feedback_raises_or_lowers_usefulness_and_salience(memory: AsyncMemory) -> None:
    good, bad = await retained(memory, "Tea."), await retained(memory, "Coffee.")
    before = await memory.memories.get(good)
    assert (before.usefulness, before.salience) == (0.5, 0.5)
    useful = await memory.memories.feedback(good, conversation="a")
    assert [useful.usefulness, useful.salience] == pytest.approx([0.6, 0.6])
    cited = await memory.memories.feedback(good, cited=True, conversation="b")
    assert [cited.usefulness, cited.salience] == pytest.approx([4 / 6, 0.68])
    useless = await memory.memories.feedback(bad, useful=False, conversation="a")
    assert [useless.usefulness, useless.salience] == pytest.approx([0.4, 0.4])
    assert useless.version == 1, "feedback makes no version"


async def test_a_conversation_has_one_verdict_the_last_one(memory: AsyncMemory) -> None:
    tea = await retained(memory)
    first = await memory.memories.feedback(tea, conversation="a", note="answered the question")
    for _ in range(3):
        assert await memory.memories.feedback(tea, conversation="a") == first
    assert (await memory.memories.feedback(tea)).usefulness == pytest.approx(4 / 6)
    assert (await memory.memories.feedback(tea)).usefulness == pytest.approx(4 / 6), (
        "without a conversation, too"
    )
    changed = await memory.memories.feedback(tea, useful=False, conversation="a")
    assert changed.usefulness == pytest.approx(0.5)
    given = await memory.memories.list_feedback(memory_id=tea)
    assert [(each.kind, each.conversation, each.note) for each in given] == [
        ("useful", None, None),
        ("not_useful", "a", "answered the question"),
    ]


async def test_feedback_is_listed_newest_first_by_pages(memory: AsyncMemory) -> None:
    tea, coffee = await retained(memory, "Tea."), await retained(memory, "Coffee.")
    for conversation in ("a", "b"):
        await memory.memories.feedback(tea, conversation=conversation)
    await memory.memories.feedback(coffee, useful=False)
    first = await memory.memories.list_feedback(limit=2)
    assert [(each.memory_id, each.kind) for each in first] == [(coffee, "not_useful"), (tea, "useful")]
    (last,) = await memory.memories.list_feedback(before=first[-1].feedback_id)
    assert (last.memory_id, last.conversation) == (tea, "a")
    assert await memory.memories.list_feedback(owner="bob") == []


async def test_concurrent_verdicts_are_all_counted(memory: AsyncMemory) -> None:
    tea = await retained(memory)
    await asyncio.gather(
        *(memory.memories.feedback(tea, conversation=f"c{number}") for number in range(2 * WRITERS))
    )
    expected = (2 + 2 * WRITERS) / (4 + 2 * WRITERS)
    assert (await memory.memories.get(tea)).usefulness == pytest.approx(expected)


async def test_the_newest_verdicts_of_a_memory_are_kept(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feedback, "VERDICTS_MAX", 3)
    tea = await retained(memory)
    for number in range(5):
        await memory.memories.feedback(tea, useful=number >= 4, conversation=f"c{number}")
    kept = await memory.memories.list_feedback(memory_id=tea)
    assert [each.conversation for each in kept] == ["c4", "c3", "c2"]
    assert (await memory.memories.get(tea)).usefulness == pytest.approx(3 / 7)


async def test_feedback_is_for_memories_of_the_owner_only(memory: AsyncMemory, rows: Rows) -> None:
    await accepted_grant(memory, "bob", owner="alice")
    tea = await retained(memory, owner="alice")
    assert [hit.memory.memory_id for hit in await memory.recall("tea", owner="bob")] == [tea]
    for owner, memory_id in (("bob", tea), ("carol", tea), ("alice", uuid4())):
        with pytest.raises(NotFoundError, match="no memory"):
            await memory.memories.feedback(memory_id, useful=False, owner=owner)
    assert await memory.memories.list_feedback(owner="alice") == []
    assert (await memory.memories.get(tea, owner="alice")).usefulness == 0.5


async def test_the_reader_of_a_grant_does_not_see_feedback_or_use(memory: AsyncMemory) -> None:
    await accepted_grant(memory, "bob", owner="alice")
    long = "Alice drinks tea. " * 400
    for text in ("Alice drinks tea.", long):
        (first, *_) = (await memory.retain(text, owner="alice")).memory_ids
        await memory.memories.feedback(first, owner="alice")
    hits = [hit.memory for hit in await memory.recall("tea", owner="bob")]
    assert {(record.usefulness, record.salience) for record in hits} == {(0.5, 0.5)}
    own = [hit.memory.usefulness for hit in await memory.recall("tea", owner="alice")]
    assert max(own) == pytest.approx(0.6)


async def test_invalid_feedback_is_refused(memory: AsyncMemory, subtests: pytest.Subtests) -> None:
    tea = await retained(memory)
    for options, message in (
        ({"useful": False, "cited": True}, "either cited or useful=False"),
        ({"useful": "yes"}, "useful"),
        ({"cited": 1}, "cited"),
        ({"conversation": ""}, "conversation"),
        ({"conversation": "c" * 257}, "conversation"),
        ({"note": " "}, "note"),
        ({"note": "n" * 1025}, "note has 1,025 characters; the limit is 1,024"),
    ):
        with subtests.test(str(options)[:60]), pytest.raises(InvalidInputError, match=message):
            await memory.memories.feedback(tea, **options)
    assert await memory.memories.list_feedback() == []


async def test_feedback_is_kept_when_the_memory_changes_and_erased_with_its_owner(
    memory: AsyncMemory, rows: Rows
) -> None:
    tea = await retained(memory, owner="bob")
    given = await memory.memories.feedback(tea, conversation="a", owner="bob")
    await memory.memories.update(tea, content="Bob drinks coffee.", owner="bob")
    assert (await memory.memories.get(tea, owner="bob")).usefulness == given.usefulness
    (before, _) = await memory.memories.history(tea, owner="bob")
    assert (before.usefulness, before.salience) == (given.usefulness, given.salience)
    receipt = await memory.admin.erase("bob")
    assert receipt.rows["state.memory_feedback"] == 1
    left = "SELECT count(*) FROM state.memory_feedback WHERE tenant_id = %s"
    assert rows.value(left, memory.tenant.id) == 0
