"""Triples: statements of subject, predicate and object."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import uuid4

import pytest

from mnemic.db.tenancy import Tenant
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.entity import OBJECT_MAX_CHARACTERS
from tests.knowledge.conftest import WriteMemories
from tests.many_writers import WRITERS
from tests.two_tenants import CountRows


async def test_a_statement_is_read_as_it_was_written(
    memory: AsyncMemory, write_memories: WriteMemories
) -> None:
    (memory_id,) = await write_memories(["Ada lives in London."])
    triple = await memory.triples.add(
        "Ada", "lives in", "London", confidence=0.5, provenance="reasoned", evidence=memory_id
    )
    assert (triple.subject, triple.predicate, triple.object) == ("Ada", "lives in", "London")
    assert (triple.owner, triple.process, triple.memory_id) == ("alice", "sdk", memory_id)
    assert await memory.triples.list() == [triple]


async def test_adding_a_statement_again_updates_it(
    memory: AsyncMemory, write_memories: WriteMemories
) -> None:
    (memory_id,) = await write_memories(["Ada lives in London."])
    first = await memory.triples.add("Ada", "lives in", "London", confidence=0.5, evidence=memory_id)
    second = await memory.triples.add("Ada", "lives in", "London", provenance="measured")
    assert second.triple_id == first.triple_id
    assert (second.confidence, second.provenance, second.memory_id) == (1.0, "measured", memory_id)
    assert await memory.triples.list() == [second]


async def test_case_and_order_distinguish_statements(memory: AsyncMemory) -> None:
    for statement in [("a", "b", "c"), ("A", "b", "c"), ("a", "B", "c"), ("a", "b", "C"), ("a", "b", "c\nd")]:
        await memory.triples.add(*statement)
    assert len(await memory.triples.list()) == 5


async def test_statements_are_listed_by_any_part(memory: AsyncMemory) -> None:
    for subject in "ab":
        for predicate in "pq":
            for thing in "xy":
                await memory.triples.add(subject, predicate, thing)
    assert len(await memory.triples.list(subject="a")) == 4
    assert len(await memory.triples.list(predicate="q")) == 4
    assert len(await memory.triples.list(object="x")) == 4
    (only,) = await memory.triples.list(subject="a", predicate="q", object="y")
    assert (only.subject, only.predicate, only.object) == ("a", "q", "y")
    assert await memory.triples.list(subject="x") == []


async def test_statements_are_listed_page_by_page(memory: AsyncMemory) -> None:
    made = [await memory.triples.add("a", "has", str(number)) for number in range(5)]
    page = await memory.triples.list(limit=3)
    rest = await memory.triples.list(before=page[-1].triple_id, limit=3)
    assert sorted(triple.object for triple in [*page, *rest]) == [triple.object for triple in made]


async def test_a_statement_can_be_deleted(memory: AsyncMemory) -> None:
    triple = await memory.triples.add("a", "b", "c")
    assert await memory.triples.remove(triple) is True
    assert await memory.triples.remove(triple.triple_id) is False
    assert await memory.triples.list() == []


async def test_the_longest_texts_fit(memory: AsyncMemory) -> None:
    scope = memory.scope(owner="𝔸" * 256)
    parts = "𝕊" * 256, "ℙ" * 256, "𝕆" * OBJECT_MAX_CHARACTERS
    triple = await scope.triples.add(*parts)
    assert await scope.triples.list(subject=parts[0], predicate=parts[1], object=parts[2]) == [triple]
    entity = await scope.entities.upsert("𝕏" * 64, "𝕐" * 256, facts={"𝕫" * 256: 1}, aliases=["𝕎" * 256])
    assert await scope.entities.get("x" * 64, "Y" * 256) == entity
    # Folding case may make more characters of one.
    await scope.entities.upsert("thing", "\u0390" * 256, aliases=["ﬃ" * 85])


async def test_statements_are_separate_per_owner_and_tenant(
    memory: AsyncMemory,
    foreign_memory: AsyncMemory,
    write_memories: WriteMemories,
    tenant_b: Tenant,
    count_rows: CountRows,
) -> None:
    secret = await foreign_memory.triples.add("a", "knows", "secret")
    bobs = await memory.triples.add("a", "knows", "secret", owner="bob")
    (foreign_evidence,) = await write_memories(["secret"], tenant=tenant_b)
    (bobs_evidence,) = await write_memories(["secret"], owner="bob")
    before = count_rows()
    assert await memory.triples.list(subject="a") == []
    assert await memory.triples.remove(secret) is await memory.triples.remove(bobs) is False
    for evidence in (foreign_evidence, bobs_evidence, uuid4()):
        with pytest.raises(NotFoundError, match="evidence"):
            await memory.triples.add("a", "b", "c", evidence=evidence)
    assert count_rows() == before


async def test_sixteen_writers_of_one_statement_make_one(wide_memory: AsyncMemory) -> None:
    made = await asyncio.gather(*(wide_memory.triples.add("a", "b", "c") for _ in range(WRITERS)))
    assert len({triple.triple_id for triple in made}) == 1


BAD: list[tuple[str, Callable[[AsyncMemory], Coroutine[Any, Any, Any]]]] = [
    ("subject", lambda memory: memory.triples.add("", "b", "c")),
    ("subject", lambda memory: memory.triples.add(None, "b", "c")),  # type: ignore[arg-type]
    ("subject", lambda memory: memory.triples.add("a\n", "b", "c")),
    ("subject", lambda memory: memory.triples.add("x" * 257, "b", "c")),
    ("predicate", lambda memory: memory.triples.add("a", " ", "c")),
    ("predicate", lambda memory: memory.triples.add("a", "\ud800", "c")),
    ("object", lambda memory: memory.triples.add("a", "b", "")),
    ("object", lambda memory: memory.triples.add("a", "b", 3)),  # type: ignore[arg-type]
    ("object", lambda memory: memory.triples.add("a", "b", "c\0")),
    ("object", lambda memory: memory.triples.add("a", "b", "x" * (OBJECT_MAX_CHARACTERS + 1))),
    ("confidence", lambda memory: memory.triples.add("a", "b", "c", confidence=2)),
    ("provenance", lambda memory: memory.triples.add("a", "b", "c", provenance="x")),  # type: ignore[arg-type]
    ("evidence", lambda memory: memory.triples.add("a", "b", "c", evidence="x")),
    ("limit", lambda memory: memory.triples.list(limit=0)),
    ("before", lambda memory: memory.triples.list(before="x")),
    ("subject", lambda memory: memory.triples.list(subject="")),
    ("object", lambda memory: memory.triples.list(object="\0")),
    ("triple", lambda memory: memory.triples.remove("x")),
]


async def test_bad_input_is_refused_and_nothing_is_written(
    memory: AsyncMemory, count_rows: CountRows, subtests: pytest.Subtests
) -> None:
    for field, call in BAD:
        with subtests.test(field):
            with pytest.raises(InvalidInputError, match=field):
                await call(memory)
            assert count_rows() == 0
