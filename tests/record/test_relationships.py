"""Relationships between memories: no self loops, no duplicates, both directions listed."""

from typing import Any
from uuid import UUID

import psycopg
import pytest

from mnemic.errors import InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import RELATIONSHIP_KINDS
from tests.conftest import AppConnection
from tests.fresh_tenants import Rows


@pytest.fixture
async def pair(memory: AsyncMemory) -> tuple[UUID, UUID]:
    first, second = (await memory.retain(["first", "second"])).memory_ids
    return first, second


@pytest.mark.parametrize("kind", RELATIONSHIP_KINDS)
async def test_memories_are_related_in_both_directions(
    memory: AsyncMemory, pair: tuple[UUID, UUID], kind: Any
) -> None:
    made = await memory.memories.relate(*pair, kind, confidence=0.5)
    assert (made.from_id, made.to_id, made.kind, made.confidence, made.process) == (*pair, kind, 0.5, "sdk")
    for memory_id in pair:
        assert list(await memory.memories.related(memory_id)) == [made]
        assert list(await memory.memories.related(memory_id, kinds=[kind])) == [made]
        others = [other for other in RELATIONSHIP_KINDS if other != kind]
        assert await memory.memories.related(memory_id, kinds=others) == []  # type: ignore[arg-type]


async def test_relating_again_updates_the_confidence(memory: AsyncMemory, pair: tuple[UUID, UUID]) -> None:
    await memory.memories.relate(*pair, "supports", confidence=0.5)
    renewed = await memory.scope(process="judge").memories.relate(*pair, "supports", confidence=0.9)
    assert list(await memory.memories.related(pair[0])) == [renewed]
    assert (renewed.confidence, renewed.process) == (0.9, "judge")


async def test_the_other_direction_is_another_relationship(
    memory: AsyncMemory, pair: tuple[UUID, UUID]
) -> None:
    first, second = pair
    await memory.memories.relate(first, second, "supports")
    await memory.memories.relate(second, first, "supports")
    assert len(await memory.memories.related(first)) == 2


@pytest.mark.parametrize(
    ("kind", "confidence", "message"),
    [
        ("likes", 1.0, "kind must be one of"),
        ("supports", 1.2, "confidence must be"),
        ("supports", None, "confidence"),
    ],
)
async def test_a_bad_relationship_is_refused(
    memory: AsyncMemory, rows: Rows, pair: tuple[UUID, UUID], kind: Any, confidence: Any, message: str
) -> None:
    before = rows.counts(memory.tenant.id)
    with pytest.raises(InvalidInputError, match=message):
        await memory.memories.relate(*pair, kind, confidence=confidence)
    with pytest.raises(InvalidInputError, match="itself"):
        await memory.memories.relate(pair[0], pair[0], "supports")
    assert rows.counts(memory.tenant.id) == before


async def test_the_database_itself_refuses_self_loops_and_doubles(
    memory: AsyncMemory, pair: tuple[UUID, UUID], superuser: AppConnection
) -> None:
    insert = (
        "INSERT INTO state.memory_relationships (tenant_id, from_id, to_id, kind, process)"
        " VALUES (%s, %s, %s, 'supports', 'p')"
    )
    with pytest.raises(psycopg.errors.CheckViolation):
        superuser.execute(insert, (memory.tenant.id, pair[0], pair[0]))
    superuser.execute(insert, (memory.tenant.id, *pair))
    with pytest.raises(psycopg.errors.UniqueViolation):
        superuser.execute(insert, (memory.tenant.id, *pair))
