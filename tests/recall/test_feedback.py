"""Feedback and time in recall: feedback tells equal memories apart, time hides nothing."""

from datetime import timedelta
from uuid import UUID, uuid4

from mnemic.jobs.handlers import RunningJob
from mnemic.maintenance import jobs as maintenance
from mnemic.promotion import jobs as promotion
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection
from tests.opened import core_of

DAYS = 400
TEXTS = ("The red tower is in Rome.", "The tan tower is in Oslo.", "The old tower is in Bern.")
MOVE = b"UPDATE state.memories SET created_at = created_at - %s WHERE tenant_id = %s"


async def ranked(memory: AsyncMemory, query: str = "Where is the tower?") -> list[UUID]:
    found = await memory.recall(query, techniques=["text"], record=False)
    return [hit.memory.memory_id for hit in found]


async def test_feedback_tells_equal_memories_apart(memory: AsyncMemory) -> None:
    first, second, third = (await memory.retain(TEXTS)).memory_ids
    assert await ranked(memory) == [first, second, third], "as they were stored"
    await memory.memories.feedback(third, conversation="a")
    await memory.memories.feedback(first, useful=False, conversation="a")
    assert await ranked(memory) == [third, second, first]
    explained = await memory.recall("Where is the tower?", techniques=["text"], explain=True)
    parts = {hit.memory.memory_id: hit.explain.scores for hit in explained if hit.explain}
    assert parts[third]["usefulness"] == 0.1
    assert parts[third]["salience"] == 0.01
    assert parts[first]["usefulness"] == -0.1
    assert "usefulness" not in parts[second]


async def test_feedback_does_not_outrank_what_answers_the_question(memory: AsyncMemory) -> None:
    """However often it is repeated."""
    first, second, _ = (await memory.retain(TEXTS)).memory_ids
    for number in range(200):
        await memory.memories.feedback(second, conversation=f"c{number}")
    assert (await ranked(memory, "Which tower is in Rome?"))[0] == first


async def test_400_idle_days_hide_and_change_nothing(memory: AsyncMemory, superuser: AppConnection) -> None:
    await memory.retain(TEXTS, category="preference")
    await memory.retain([{"role": "user", "content": text} for text in TEXTS], conversation="c")
    before = await memory.memories.list()
    order = await ranked(memory)
    superuser.execute(MOVE, [timedelta(days=DAYS), memory.tenant.id])
    job = RunningJob(uuid4(), "maintenance.cleanup", {}, None, 1, memory.tenant)
    await maintenance.clean_up(core_of(memory), job)
    await promotion.promote(core_of(memory), job)
    after = await memory.memories.list()
    assert [(each.memory_id, each.version, each.status) for each in after] == [
        (each.memory_id, each.version, each.status) for each in before
    ]
    by_kind = {each.conversation is None: each.salience for each in after}
    assert round(by_kind[True], 4) == round(0.5 * (1 + 19 / 81 * DAYS / 30) ** -0.5, 4)
    assert by_kind[False] == 0.5
    assert set(await ranked(memory)) == set(order)
