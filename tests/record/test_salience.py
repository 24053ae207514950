"""Salience: computed from time, use and feedback when a memory is read, by one function of the database."""

import math
from datetime import timedelta
from uuid import UUID

import pytest

from mnemic.sdk.memory import AsyncMemory
from tests.accepted_grants import accepted_grant
from tests.conftest import AppConnection
from tests.fresh_tenants import Rows
from tests.opened import core_of

CATEGORIES = ("factual", "preference", "behavioral", "procedural", "reference", "prospective")


def pass_days(superuser: AppConnection, memory: AsyncMemory, days: float) -> None:
    """Move all times of the tenant's memories and of their use into the past: so the clock seems to go on."""
    for statement in (
        b"UPDATE state.memories SET created_at = created_at - %s WHERE tenant_id = %s",
        b"UPDATE state.recall_counts SET last_retrieved_at = last_retrieved_at - %s WHERE tenant_id = %s",
        b"UPDATE state.recall_counts SET last_useful_at = last_useful_at - %s WHERE tenant_id = %s",
        b"UPDATE state.entities SET updated_at = updated_at - %s WHERE tenant_id = %s",
    ):
        superuser.execute(statement, [timedelta(days=days), memory.tenant.id])


def faded(days: int, scale_days: int = 30) -> float:
    return float((1 + 19 / 81 * days / scale_days) ** -0.5)


async def salience(memory: AsyncMemory, memory_id: UUID) -> float:
    return (await memory.memories.get(memory_id)).salience


async def test_salience_falls_by_category_and_never_for_turns_events_and_anchored_memories(
    memory: AsyncMemory, superuser: AppConnection, subtests: pytest.Subtests
) -> None:
    items = [{"content": f"Likes {name}.", "category": name} for name in (*CATEGORIES, "episodic")]
    *others, event = (await memory.retain(items)).memory_ids
    (turn,) = (await memory.retain("Good morning!", conversation="c", category="factual")).memory_ids
    (anchored,) = (
        await memory.retain("Is allergic to nuts.", category="preference", anchored=True)
    ).memory_ids
    for step, days in ((0, 0), (30, 30), (60, 90), (275, 365)):
        pass_days(superuser, memory, step)
        with subtests.test(f"{days} days"):
            expected = [0.5 * faded(days, 210 if name == "factual" else 30) for name in CATEGORIES]
            assert [await salience(memory, each) for each in others] == pytest.approx(expected)
            assert [await salience(memory, each) for each in (event, turn, anchored)] == [0.5] * 3


async def test_salience_is_constant_for_a_day(memory: AsyncMemory, superuser: AppConnection) -> None:
    (tea,) = (await memory.retain("Likes tea.", category="preference")).memory_ids
    pass_days(superuser, memory, 0.9)
    assert await salience(memory, tea) == 0.5
    pass_days(superuser, memory, 1)
    assert await salience(memory, tea) == pytest.approx(0.5 * faded(1))


async def test_recalls_reinforce_weakly_and_feedback_strongly(
    memory: AsyncMemory, superuser: AppConnection
) -> None:
    ids = (
        await memory.retain(["Likes tea.", "Plays chess.", "Owns a boat."], category="preference")
    ).memory_ids
    unused, recalled, useful = ids
    pass_days(superuser, memory, 90)
    assert (await memory.recall("chess", limit=1, techniques=["text"])).hits[0].memory.memory_id == recalled
    await core_of(memory).write_recalled_counts()
    await memory.memories.feedback(useful, conversation="c")
    assert await salience(memory, unused) == pytest.approx(0.5 * faded(90))
    boost = 1 + 0.05 * math.log(2)
    assert await salience(memory, recalled) == pytest.approx(0.5 * boost * faded(45))
    assert await salience(memory, useful) == pytest.approx(0.6), "feedback starts the time anew"


async def test_frequency_is_bounded(memory: AsyncMemory, superuser: AppConnection) -> None:
    (tea,) = (await memory.retain("Likes tea.")).memory_ids
    most = "INSERT INTO state.recall_counts (tenant_id, memory_id, retrieval_count) VALUES (%s, %s, %s)"
    superuser.execute(most.encode(), [memory.tenant.id, tea, 2**31 - 1])
    assert await salience(memory, tea) == pytest.approx(0.625)


async def test_every_call_shows_the_same_salience(memory: AsyncMemory, superuser: AppConnection) -> None:
    (tea,) = (await memory.retain("Likes tea.", category="preference")).memory_ids
    await memory.memories.feedback(tea)
    pass_days(superuser, memory, 60)
    (listed,) = await memory.memories.list()
    (hit,) = (await memory.recall("tea", record=False)).hits
    assert hit.memory == listed == await memory.memories.get(tea)
    assert listed.salience == pytest.approx(0.6 * faded(60))
    assert (await memory.memories.history(tea))[-1] == listed
    await memory.memories.update(tea, content="Likes green tea.")
    pass_days(superuser, memory, 60)
    (first, second) = await memory.memories.history(tea)
    assert first.salience == pytest.approx(0.6 * faded(60)), "what it was when the version ended"
    assert second.salience == pytest.approx(0.6 * faded(120))


async def test_odd_times_and_counts_give_a_salience_between_0_and_1(
    rows: Rows, subtests: pytest.Subtests
) -> None:
    """Clocks that went back, and the ends of what the types hold."""
    function = (
        "SELECT mnemic.salience(%s::real, %s, NULL, false, %s::timestamptz, %s::int, %s::timestamptz,"
        " %s::int, %s::int, %s::timestamptz, %s::timestamptz)"
    )
    most = 2**31 - 1
    now, past, future = "2026-01-01", "0001-01-02", "9999-12-30"
    for name, values in {
        "oldest": (0.5, "preference", past, None, None, None, None, None, future),
        "created later": (0.5, "factual", future, 0, None, 0, 0, None, past),
        "used later": (0.5, "factual", now, 1, future, 1, 0, future, now),
        "infinite": (0.5, "factual", "-infinity", 1, "infinity", 1, 1, "-infinity", now),
        "infinitely old": (1.0, "factual", "-infinity", 1, None, 1, 1, None, now),
        "most": (1.0, "factual", past, most, now, most, most, now, now),
        "least": (0.0, "factual", past, 0, past, 0, most, past, future),
    }.items():
        with subtests.test(name):
            assert 0 <= float(str(rows.value(function, *values))) <= 1
    assert rows.value("SELECT mnemic.usefulness(0.5::real, %s::int, %s::int)", most, most) == 0.5
    for past_or_future in ("0001-01-02", "9999-12-30", "infinity", "-infinity"):
        entity = "SELECT mnemic.entity_salience(0.9::real, %s::timestamptz, NULL, '2026-01-01')"
        assert 0 <= float(str(rows.value(entity, past_or_future))) <= 0.91


async def test_the_salience_of_entities_falls_by_a_twentieth_a_day_since_the_last_mention(
    memory: AsyncMemory, superuser: AppConnection
) -> None:
    old = await memory.entities.upsert("person", "Robert Old", aliases=["Bob"], salience=0.8)
    new = await memory.entities.upsert("person", "Robert New", aliases=["Bob"], salience=0.5)
    pass_days(superuser, memory, 20)
    assert [each.salience for each in await memory.entities.find("Bob")] == pytest.approx(
        [0.8 * 0.95**20, 0.5 * 0.95**20]
    )
    await memory.retain("Robert New called.")
    found = await memory.entities.find("Bob")
    assert [each.entity_id for each in found] == [new.entity_id, old.entity_id]
    assert found[0].salience == 0.5
    listed = {each.name: each.salience for each in await memory.entities.list()}
    assert listed == {each.name: each.salience for each in found}


async def test_the_reader_of_a_grant_sees_the_age_of_a_memory_but_not_its_use(
    memory: AsyncMemory, superuser: AppConnection
) -> None:
    await accepted_grant(memory, "bob", owner="alice")
    (tea,) = (await memory.retain("Likes tea.", category="preference", owner="alice")).memory_ids
    await memory.memories.feedback(tea, owner="alice")
    pass_days(superuser, memory, 60)
    (hit,) = (await memory.recall("tea", owner="bob", record=False)).hits
    assert hit.memory.salience == pytest.approx(0.5 * faded(60))
