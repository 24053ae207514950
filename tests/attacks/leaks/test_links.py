"""Readers of a grant follow links, look into the past, and call everything else with ids of the giver."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from mnemic.errors import MnemicError
from mnemic.sdk.memory import AsyncMemory
from tests.attacks.leaks.readers import (
    GIVER,
    READER,
    UNMARKED,
    give,
    keep_secrets,
    open_trip,
    why,
)
from tests.opened import core_of


async def test_a_granted_memory_does_not_name_other_memories(memory: AsyncMemory) -> None:
    bob = memory.scope(owner=GIVER)
    (secret,) = (await bob.retain("The lawyer is Quentin Oyelaran.")).memory_ids
    (shared,) = (
        await bob.retain("I need a lawyer.", tags=["shared"], evidence=[str(secret), "a letter"])
    ).memory_ids
    successor = await bob.memories.supersede(shared, "I have a lawyer.")
    await bob.memories.untag(successor.memory_id, "shared")
    await give(memory, tags=["shared"])
    (hit,) = await memory.recall(
        "lawyer", owner=READER, refuse_below=0, statuses=["active", "superseded"], explain=True
    )
    assert hit.memory.memory_id == shared
    assert (hit.memory.evidence, why(hit).evidence) == (("a letter",), ("a letter",))
    for other in (secret, successor.memory_id):
        assert str(other) not in str(hit)


async def test_other_calls_do_not_tell_whether_a_memory_exists(
    memory: AsyncMemory, subtests: pytest.Subtests
) -> None:
    """With the id of a secret, of a granted memory and of no memory: the same answer or error."""
    granted, *_ = await open_trip(memory)
    await give(memory, tags=["shared"])
    secret, *_ = await keep_secrets(memory, UNMARKED)
    alice = memory.scope(owner=READER)
    (own, *_) = (await alice.retain("The well is deep.")).memory_ids
    calls: dict[str, Callable[[UUID], Awaitable[object]]] = {
        "get": alice.memories.get,
        "whole": alice.memories.whole,
        "history": alice.memories.history,
        "forget": alice.memories.forget,
        "restore": alice.memories.restore,
        "tag": lambda memory_id: alice.memories.tag(memory_id, "shared"),
        "update": lambda memory_id: alice.memories.update(memory_id, content="nothing"),
        "supersede": lambda memory_id: alice.memories.supersede(memory_id, "nothing"),
        "relate": lambda memory_id: alice.memories.relate(own, memory_id, "supports"),
        "related": alice.memories.related,
        "mentioned": alice.entities.mentioned,
        "evidence": lambda memory_id: alice.triples.add("a", "knows", "b", evidence=memory_id),
    }
    for name, call in calls.items():
        with subtests.test(name):
            assert await outcome(call, secret) == await outcome(call, uuid4())
            assert await outcome(call, granted) == await outcome(call, uuid4())


async def outcome(call: Callable[[UUID], Awaitable[object]], memory_id: UUID) -> str:
    """What a call returns or raises, without the id that it was called with."""
    try:
        result: object = await call(memory_id)
    except MnemicError as error:
        result = f"{type(error).__name__}: {error}"
    return str(result).replace(str(memory_id), "the id")


async def test_a_memory_that_is_not_granted_any_more_has_no_past_for_the_reader(
    memory: AsyncMemory, subtests: pytest.Subtests
) -> None:
    bob = memory.scope(owner=GIVER)
    texts = [f"The lawyer of number {number} is Quentin." for number in range(4)]
    kept = await bob.retain([{"content": text, "tags": ["shared"]} for text in texts])
    past = datetime.now(UTC)
    untagged, forgotten, expired, edited = kept.memory_ids
    await bob.memories.untag(untagged, "shared")
    await bob.memories.forget(forgotten)
    await bob.memories.update(expired, expires_at=datetime.now(UTC))
    await bob.memories.update(edited, confidence=0.5)
    await give(memory, tags=["shared"])
    for technique in ("text", "vector"):
        with subtests.test(technique):
            found = await memory.recall(
                "lawyer Quentin",
                owner=READER,
                refuse_below=0,
                as_of=past,
                techniques=[technique, "neighbours"],
            )
            assert [(hit.memory.memory_id, hit.memory.confidence) for hit in found] == [(edited, 1.0)]
            assert found.counts[technique] == 1


async def test_a_granted_memory_does_not_say_how_often_others_recall_it(memory: AsyncMemory) -> None:
    bob = memory.scope(owner=GIVER)
    await bob.retain("The well is deep.")
    assert await bob.recall("the deep well")
    await core_of(memory).write_recalled_counts()
    (own,) = await bob.recall("the deep well")
    assert own.memory.retrieval_count == 1
    await give(memory)
    (hit,) = await memory.recall("the deep well", owner=READER)
    assert (hit.memory.retrieval_count, hit.memory.last_retrieved_at) == (0, None)
