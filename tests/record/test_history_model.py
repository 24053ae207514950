"""History and revert against a plain model in Python, for any sequence of changes."""

import os
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic.db.database import Database
from mnemic.errors import InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import CATEGORIES, MemoryRecord
from tests.opened import opened

WORDS = st.sampled_from(["tea", "coffee", "water", "ünïcode 👩🏽‍🚀"])
TAGS = st.sampled_from(["a", "b", "C", " d "])

STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("update"),
            st.fixed_dictionaries(
                {},
                optional={
                    "content": WORDS,
                    "category": st.sampled_from(CATEGORIES),
                    "tags": st.lists(TAGS, max_size=3),
                    "metadata": st.dictionaries(st.sampled_from("xy"), st.integers(0, 3), max_size=2),
                    "confidence": st.sampled_from([0.0, 0.1, 0.7, 1.0]),
                    "anchored": st.booleans(),
                },
            ),
        ),
        st.tuples(st.just("forget"), st.none()),
        st.tuples(st.just("restore"), st.none()),
        st.tuples(st.just("tag"), TAGS),
        st.tuples(st.just("untag"), TAGS),
        st.tuples(st.just("revert"), st.integers(0, 30)),
    ),
    max_size=12,
)


@dataclass(frozen=True)
class State:
    """A version in the model."""

    content: str = "tea"
    category: str = "factual"
    tags: frozenset[str] = frozenset()
    metadata: tuple[tuple[str, int], ...] = ()
    confidence: float = 1.0
    anchored: bool = False
    deleted_at: datetime | None = None


def expected(history: list[State], step: str, argument: Any, moment: datetime | None) -> State:
    """The state after a step; `moment` is when it was forgotten, which only the result says."""
    now = history[-1]
    if step == "update":
        changes = dict(argument)
        if "tags" in changes:
            changes["tags"] = frozenset(tag.strip().lower() for tag in changes["tags"])
        if "metadata" in changes:
            changes["metadata"] = tuple(sorted(changes["metadata"].items()))
        return State(**vars(now) | changes)
    if step == "forget":
        return replace(now, deleted_at=now.deleted_at or moment)
    if step == "restore":
        return replace(now, deleted_at=None)
    if step in ("tag", "untag"):
        tag = frozenset({argument.strip().lower()})
        return replace(now, tags=now.tags | tag if step == "tag" else now.tags - tag)
    earlier: State = history[argument % len(history)]
    return earlier


async def do(
    memory: AsyncMemory, memory_id: UUID, history: list[State], step: str, argument: Any
) -> MemoryRecord:
    memories = memory.memories
    if step == "update":
        return await memories.update(memory_id, **argument)
    if step == "forget":
        return await memories.forget(memory_id)
    if step == "restore":
        return await memories.restore(memory_id)
    if step == "tag":
        return await memories.tag(memory_id, argument)
    if step == "untag":
        return await memories.untag(memory_id, argument)
    return await memories.revert(memory_id, 1 + argument % len(history))


def seen(record: MemoryRecord) -> State:
    return State(
        record.content,
        record.category,
        frozenset(record.tags),
        tuple(sorted(record.metadata.items())),
        record.confidence,
        record.anchored,
        record.deleted_at,
    )


@given(steps=STEPS)
@settings(
    max_examples=60 if "SLOW_TESTS" in os.environ else 15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=True,
)
async def test_the_history_is_what_was_done(shared_database: Database, steps: list[tuple[str, Any]]) -> None:
    tenant = await shared_database.open_tenant(f"tenant {uuid4()}")
    memory = opened(shared_database, tenant, embedder="test")
    (memory_id,) = (await memory.retain("tea")).memory_ids
    first = await memory.memories.get(memory_id)
    history, records = [State()], [first]
    for step, argument in steps:
        if step == "update" and not argument:
            with pytest.raises(InvalidInputError, match="Nothing to change"):
                await do(memory, memory_id, history, step, argument)
            continue
        record = await do(memory, memory_id, history, step, argument)
        wanted = expected(history, step, argument, record.deleted_at)
        assert seen(record) == wanted
        assert step != "forget" or record.deleted_at is not None
        if wanted != history[-1]:
            history.append(wanted)
            records.append(record)
    stored = await memory.memories.history(memory_id)
    assert list(stored) == records
    assert [record.version for record in stored] == list(range(1, len(history) + 1))
    assert [seen(record) for record in stored] == history
    times = [record.recorded_at for record in stored]
    assert times == sorted(times)
    for record, later in zip(records, [*records[1:], None], strict=True):
        assert await memory.memories.as_of(memory_id, record.recorded_at) == record
        if later is not None:
            just_before = later.recorded_at - (later.recorded_at - record.recorded_at) / 2
            assert await memory.memories.as_of(memory_id, just_before) == record
    assert await memory.memories.as_of(memory_id, "2000-01-01T00:00:00Z") is None
