"""Promotion to `_global`: by all thresholds, recorded, repeatable, demoted without evidence, undone."""

from dataclasses import asdict
from typing import Any
from uuid import UUID, uuid4

import pytest

from mnemic.errors import PermanentJobError
from mnemic.jobs.handlers import RunningJob
from mnemic.promotion.jobs import promote
from mnemic.promotion.thresholds import Thresholds
from mnemic.record import changesets
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.promotion import Promotion
from tests.accepted_grants import accepted_grant
from tests.opened import core_of

NOTHING = {"promoted_count": 0, "demoted_count": 0, "undone_count": 0, "conflict_count": 0}
TEA = "Alice drinks green tea in the morning."


async def run(memory: AsyncMemory, owner: str | None = None, **payload: Any) -> dict[str, int]:
    """Run the job; returns the counts that are not zero."""
    job = RunningJob(uuid4(), "mind.promote", payload, owner, 1, memory.tenant)
    done = await promote(core_of(memory), job)
    assert isinstance(done, dict)
    assert set(done) == set(NOTHING)
    return {name: count for name, count in done.items() if count}


async def retained(memory: AsyncMemory, text: str = TEA, **options: Any) -> UUID:
    (memory_id,) = (await memory.retain(text, **{"confidence": 0.9, **options})).memory_ids
    return memory_id


async def use(memory: AsyncMemory, *ids: UUID, recalls: int = 3, conversations: int = 2) -> None:
    """Count recalls, as recalls do, and give useful feedback."""
    for _ in range(recalls):
        core_of(memory).recall_counts.count(ids)
    await core_of(memory).write_recalled_counts()
    for number in range(conversations):
        for memory_id in ids:
            await memory.memories.feedback(memory_id, conversation=f"conversation {number}")


async def channel_of(memory: AsyncMemory, memory_id: UUID) -> str:
    return (await memory.memories.get(memory_id)).channel


@pytest.fixture
def work(memory: AsyncMemory) -> AsyncMemory:
    """Alice's memory in the channel `work`."""
    return memory.scope(channel="work")


@pytest.fixture
def home(memory: AsyncMemory) -> AsyncMemory:
    return memory.scope(channel="home")


async def undo(memory: AsyncMemory, promotion: Promotion) -> None:
    async with core_of(memory).storage.tenant_database.transaction() as transaction:
        await changesets.undo(transaction, "alice", promotion.changeset_id)


async def test_a_promoted_memory_is_found_in_every_channel_once(work: AsyncMemory, home: AsyncMemory) -> None:
    tea = await retained(work)
    await use(work, tea)
    assert not await home.recall("What does Alice drink?", record=False)
    assert await run(work) == {"promoted_count": 1}
    for scoped in (work, home):
        found = await scoped.recall("What does Alice drink?", record=False)
        assert [hit.memory.memory_id for hit in found] == [tea]
    (promotion,) = await work.memories.promotions()
    assert (promotion.memory_id, promotion.state, promotion.origin_channel) == (tea, "promoted", "work")
    assert promotion.thresholds == asdict(Thresholds())
    assert promotion.measured == {
        "confidence": 0.9,
        "uses": 5,
        "conversations": 2,
        "usefulness": pytest.approx(4 / 6, abs=1e-5),
    }
    last = (await work.memories.history(tea))[-1]
    assert (last.changed_by, last.change_reason) == (
        "system",
        "It is certain (0.9) and was used 5 times, in 2 conversations.",
    )


async def test_it_needs_every_threshold(work: AsyncMemory, subtests: pytest.Subtests) -> None:
    for name, options, used in (
        ("confidence", {"confidence": 0.84}, {}),
        ("uses", {}, {"recalls": 2}),
        ("conversations", {}, {"recalls": 9, "conversations": 1}),
    ):
        with subtests.test(name):
            memory_id = await retained(work, f"Too little {name}.", **options)
            await use(work, memory_id, **used)
            assert await run(work) == {}
            assert await channel_of(work, memory_id) == "work"
    assert await work.memories.promotions() == []


async def test_a_threshold_that_is_just_reached_is_reached(work: AsyncMemory) -> None:
    """Shares are stored with four bytes: 0.9 is less than 0.9 then."""
    tea = await retained(work, confidence=0.9)
    await use(work, tea)
    assert await run(work, confidence=0.9) == {"promoted_count": 1}


async def test_negative_feedback_keeps_a_memory_where_it_is(work: AsyncMemory) -> None:
    tea = await retained(work)
    await use(work, tea)
    for number in range(3):
        await work.memories.feedback(tea, useful=False, conversation=f"other {number}")
    assert await run(work) == {}


async def test_conversations_that_it_was_derived_from_count(work: AsyncMemory) -> None:
    first = await retained(work, "I drink green tea.", conversation="monday", role="user")
    second = await retained(work, "Green tea again, please.", conversation="tuesday", role="user")
    tea = await retained(work, evidence=[str(first), str(second)])
    await use(work, tea, recalls=5, conversations=0)
    assert await run(work) == {"promoted_count": 1}
    await work.memories.forget(second)
    assert await run(work) == {"demoted_count": 1}, "its evidence went"
    (promotion,) = await work.memories.promotions()
    assert (promotion.state, promotion.ending_reason) == (
        "demoted",
        "The evidence for its promotion went: conversations is 1, below 2.",
    )
    assert await channel_of(work, tea) == "work"
    await work.memories.restore(second)
    assert await run(work) == {"promoted_count": 1}, "and came back"


async def test_running_it_again_changes_nothing(work: AsyncMemory) -> None:
    tea = await retained(work)
    await use(work, tea)
    assert await run(work) == {"promoted_count": 1}
    before = await work.memories.get(tea)
    for _ in range(2):
        assert await run(work) == {}
    assert await work.memories.get(tea) == before


async def test_a_promotion_that_was_undone_is_not_repeated(work: AsyncMemory, home: AsyncMemory) -> None:
    tea = await retained(work)
    await use(work, tea)
    await run(work)
    (promotion,) = await work.memories.promotions()
    await undo(work, promotion)
    assert await channel_of(work, tea) == "work"
    assert not await home.recall("What does Alice drink?", record=False)
    assert await run(work) == {"undone_count": 1}
    await use(work, tea, conversations=5)
    assert await run(work) == {}
    (promotion,) = await work.memories.promotions()
    assert (promotion.state, promotion.ending_reason) == ("undone", "The memory was moved out of `_global`.")


async def test_a_demotion_is_undone_too(work: AsyncMemory) -> None:
    tea = await retained(work)
    await use(work, tea)
    await run(work)
    for number in range(3):
        await work.memories.feedback(tea, useful=False, conversation=f"other {number}")
    assert await run(work) == {"demoted_count": 1}
    assert await channel_of(work, tea) == "work"
    (promotion,) = await work.memories.promotions()
    assert (
        promotion.ending_reason == "The evidence for its promotion went: usefulness is 0.444444, below 0.5."
    )
    demotion = (await work.memories.history(tea))[-1]
    assert demotion.change_reason == promotion.ending_reason


async def test_demotion_uses_the_thresholds_of_the_promotion(work: AsyncMemory) -> None:
    tea = await retained(work)
    await use(work, tea)
    assert await run(work) == {"promoted_count": 1}
    assert await run(work, uses=100, conversations=50, confidence=0.99) == {}
    await work.memories.update(tea, confidence=0.5)
    assert await run(work) == {"demoted_count": 1}


async def forked(work: AsyncMemory) -> AsyncMemory:
    await work.retain("Uses Python.")
    await work.channels.fork("draft", parent="work")
    return work.scope(channel="draft")


async def test_some_memories_are_never_promoted(work: AsyncMemory) -> None:
    kept = {
        "turn": await retained(work, "Good morning.", conversation="c", role="user"),
        "expiring": await retained(work, "Parks on level 3.", expires_at="2100-01-01"),
        "past": await retained(work, "Worked at Acme.", valid_from="2019-01-01", valid_to="2020-01-01"),
        "forgotten": await retained(work, "Likes red."),
        "superseded": await retained(work, "Lives in Rome."),
        "outdated": await retained(work, "Runs 5 km."),
        "in a branch": await retained(await forked(work), "Prefers the draft."),
    }
    newer = await retained(work, "Runs 10 km.")
    (part, *_) = (await work.retain("A long text. " * 1_000, confidence=0.9)).memory_ids
    kept["chunk"] = part
    await use(work, *kept.values())
    await work.memories.forget(kept["forgotten"])
    await work.memories.supersede(kept["superseded"], "Lives in Berlin.")
    await work.memories.decide_outdated(kept["outdated"], newer, "outdated")
    assert await run(work) == {}
    assert await work.memories.promotions() == []


async def test_promotion_never_changes_who_may_read_a_memory(memory: AsyncMemory, work: AsyncMemory) -> None:
    tea = await retained(work)
    await use(work, tea)
    for channel in ("_global", "work"):
        grant = await accepted_grant(memory, "bob", channel=channel)
        assert await run(work) == {}, channel
        await memory.shares.revoke(grant.grant_id)
    everything = await accepted_grant(memory, "bob")
    assert await run(work) == {"promoted_count": 1}
    assert [hit.memory.memory_id for hit in await memory.recall("green tea", owner="bob")] == [tea]
    await memory.shares.revoke(everything.grant_id)
    grant = await accepted_grant(memory, "bob", channel="work")
    await work.memories.update(tea, confidence=0.1)
    assert await run(work) == {}, "demoting it would let Bob read it"
    await memory.shares.revoke(grant.grant_id)
    assert await run(work) == {"demoted_count": 1}


async def test_the_job_may_be_for_one_owner(work: AsyncMemory) -> None:
    bob = work.scope(owner="bob")
    ids = {"alice": await retained(work), "bob": await retained(bob)}
    await use(work, ids["alice"])
    await use(bob, ids["bob"])
    assert await run(work, owner="bob") == {"promoted_count": 1}
    assert [each.memory_id for each in await bob.memories.promotions()] == [ids["bob"]]
    assert await work.memories.promotions() == []


async def test_wrong_thresholds_fail_for_good(work: AsyncMemory, subtests: pytest.Subtests) -> None:
    for payload, message in (
        ({"confidence": 2}, "confidence"),
        ({"uses": 0}, "uses"),
        ({"conversations": "many"}, "conversations"),
        ({"use": 5}, "There is no threshold 'use'"),
    ):
        with subtests.test(message), pytest.raises(PermanentJobError, match=message):
            await run(work, **payload)


async def test_a_branch_that_read_the_memory_still_finds_it_once(work: AsyncMemory) -> None:
    tea = await retained(work)
    await work.channels.fork("draft", parent="work")
    await use(work, tea)
    assert await run(work) == {"promoted_count": 1}
    found = await work.scope(channel="draft").recall("What does Alice drink?", record=False)
    assert [hit.memory.memory_id for hit in found] == [tea]
