"""Statements are memories, stored once, together with the mark that their source was read."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from mnemic.extraction.extracting import extract_batch
from mnemic.extraction.protocol import KnownStatement, ProposedStatement, SourceText
from mnemic.extraction.storing import SourceBatch, StoredStatements
from mnemic.runtime.core import Caller
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.scope import Scope
from tests.fresh_tenants import Rows
from tests.opened import core_of

AT = datetime(2026, 3, 1, tzinfo=UTC)
SCOPE = Scope("alice", "_global", "test")


class Scripted:
    """Proposes that the user lives in the last word of each source."""

    name = "scripted-1"

    async def extract(
        self, sources: Sequence[SourceText], known: Sequence[KnownStatement]
    ) -> Sequence[ProposedStatement]:
        return [
            ProposedStatement(
                source.memory_id,
                source.text,
                f"The user lives in {source.text.split()[-1]}.",
                "The user",
                "lives in",
                source.text.split()[-1],
            )
            for source in sources
        ]


async def said(memory: AsyncMemory, *texts: str) -> list[SourceText]:
    turns = [{"role": "user", "content": text} for text in texts]
    retained = await memory.retain(turns, conversation="c")
    return [
        SourceText(memory_id, text, "user", None, AT, place)
        for place, (memory_id, text) in enumerate(zip(retained.memory_ids, texts, strict=True))
    ]


async def extract(memory: AsyncMemory, sources: Sequence[SourceText]) -> StoredStatements:
    caller = Caller(core_of(memory), SCOPE)
    return await extract_batch(caller, Scripted(), SourceBatch(SCOPE, sources, Scripted.name))


async def test_a_statement_is_a_memory_with_its_quotation_and_triple(memory: AsyncMemory, rows: Rows) -> None:
    (source,) = await said(memory, "I live in Oslo")
    stored = await extract(memory, [source])
    assert (stored.stored_count, stored.rejected_count) == (1, 0)
    statement = (await memory.memories.list(categories=["factual"]))[0]
    assert statement.content == "The user lives in Oslo."
    assert (statement.source, round(statement.confidence, 2), statement.at) == ("extracted", 0.95, AT)
    related = await memory.memories.related(statement.memory_id)
    assert [(each.kind, each.to_id) for each in related] == [("derived_from", source.memory_id)]
    (triple,) = await memory.triples.list()
    assert (triple.subject, triple.predicate, triple.object) == ("The user", "lives_in", "Oslo")
    assert [entity.name for entity in await memory.entities.mentioned(statement.memory_id)] == ["Oslo"]
    assert rows.select(
        "SELECT quotation FROM state.statement_sources WHERE tenant_id = %s", memory.tenant.id
    ) == [("I live in Oslo",)]
    assert (await memory.recall("Where does the user live?")).hits[0].memory.content == statement.content


async def test_said_again_adds_a_source_and_no_memory(memory: AsyncMemory, rows: Rows) -> None:
    first, second, third = await said(
        memory, "I live in Oslo", "I still live in Oslo", "Sure, I live in OSLO"
    )
    await extract(memory, [first, second])
    again = await extract(memory, [third])
    assert (again.stored_count, again.repeated_count) == (0, 1)
    assert rows.select("SELECT count(*) FROM state.statements WHERE tenant_id = %s", memory.tenant.id) == [
        (1,)
    ]
    assert rows.select(
        "SELECT count(*) FROM state.statement_sources WHERE tenant_id = %s", memory.tenant.id
    ) == [(3,)]
    (statement,) = await memory.memories.list(categories=["factual"])
    assert statement.reinforcement_count == 1
    assert len(await memory.memories.related(statement.memory_id)) == 3


async def test_two_workers_store_a_turn_once(memory: AsyncMemory, rows: Rows) -> None:
    sources = await said(memory, "I live in Oslo", "I live in Bergen")
    results = await asyncio.gather(*(extract(memory, sources) for _ in range(4)))
    assert sum(result.already_read for result in results) == 3
    assert sum(result.stored_count for result in results) == 2
    assert rows.select("SELECT count(*) FROM state.statements WHERE tenant_id = %s", memory.tenant.id) == [
        (2,)
    ]
    assert rows.select(
        "SELECT count(*) FROM state.extraction_runs WHERE tenant_id = %s", memory.tenant.id
    ) == [(2,)]
    assert (await extract(memory, sources)).already_read


async def test_rejected_statements_are_kept_with_their_reason_and_counted(
    memory: AsyncMemory, rows: Rows
) -> None:
    sources = await said(memory, "Do I live in Oslo?", "I live in Oslo")
    stored = await extract(memory, sources)
    assert (stored.stored_count, stored.rejected_count) == (1, 1)
    assert rows.select(
        "SELECT reason, statement ->> 'value' FROM state.rejected_statements WHERE tenant_id = %s",
        memory.tenant.id,
    ) == [("question", "Oslo?")]
    counts = rows.select(
        "SELECT statement_count, rejected_count FROM state.extraction_runs WHERE tenant_id = %s ORDER BY 1",
        memory.tenant.id,
    )
    assert counts == [(0, 1), (1, 0)]


async def test_what_was_forgotten_is_not_learnt_again_from_the_same_turn(
    memory: AsyncMemory, rows: Rows
) -> None:
    (source,) = await said(memory, "I live in Oslo")
    await extract(memory, [source])
    (statement,) = await memory.memories.list(categories=["factual"])
    await memory.memories.forget(statement.memory_id)
    rows.select("DELETE FROM state.extraction_runs WHERE tenant_id = %s RETURNING 1", memory.tenant.id)
    assert (await extract(memory, [source])).stored_count == 0
    assert rows.select(
        "SELECT reason FROM state.rejected_statements WHERE tenant_id = %s", memory.tenant.id
    ) == [("forgotten",)]
    (later,) = await said(memory, "I do live in Oslo")
    assert (await extract(memory, [later])).stored_count == 1


async def test_a_note_that_is_the_statement_becomes_it(memory: AsyncMemory, rows: Rows) -> None:
    retained = await memory.retain("The user lives in Oslo.")
    (source,) = await said(memory, "I live in Oslo")
    await extract(memory, [source])
    assert rows.select("SELECT memory_id FROM state.statements WHERE tenant_id = %s", memory.tenant.id) == [
        (UUID(str(retained.memory_ids[0])),)
    ]
