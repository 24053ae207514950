"""Entities, triples, state and the journals are the same on every transport."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.types.entity import (
    ArchivedEntity,
    Entity,
    EntityCounts,
    EntityFact,
    EntityGraph,
    EntityRelation,
    EntityTotals,
    Triple,
)
from mnemic.types.memory_map import MemoryMap
from mnemic.types.tiers import (
    ActorFlag,
    ErrorEvent,
    JournalEvent,
    MetricEvent,
    MetricSummary,
    ProcessAttribute,
    RevenueEvent,
    RevenueTotal,
    StateDocument,
)

WHEN = datetime(2026, 3, 1, 10, 0, 0, 123456, tzinfo=UTC)


async def test_an_entity_is_named_by_itself_its_id_or_category_and_name(memory: Any) -> None:
    facts = {"age": 41, "cities": ["Rome", "Berlin"], "height": 1.71}
    alice = await memory.entities.upsert("person", "Alice/ü", facts=facts, aliases=["Al"])
    assert isinstance(alice, Entity)
    assert (alice.facts, alice.aliases) == (facts, ("Al",))
    for reference in (alice, alice.entity_id, str(alice.entity_id), ("person", "Alice/ü")):
        assert await memory.entities.get(reference) == alice
    assert await memory.entities.get("person", "Alice/ü") == alice
    assert await memory.entities.find("Al") == [alice]
    assert await memory.entities.list(category="person") == [alice]
    history = await memory.entities.history(("person", "Alice/ü"), attribute="age")
    assert [(type(fact), fact.value) for fact in history] == [(EntityFact, 41)]
    with pytest.raises(NotFoundError):
        await memory.entities.get("person", "Bob")


async def test_entities_are_related(memory: Any) -> None:
    alice = await memory.entities.upsert("person", "Alice")
    await memory.entities.upsert("place", "Berlin")
    related = await memory.entities.relate(alice, ("place", "Berlin"), "lives in", confidence=0.75)
    assert isinstance(related, EntityRelation)
    graph = await memory.entities.graph(("person", "Alice"), depth=1, kinds=["lives in"])
    assert isinstance(graph, EntityGraph)
    assert [node.name for node in graph.nodes] == ["Alice", "Berlin"]
    assert graph.relations == (related,)
    assert await memory.entities.unrelate(alice, ("place", "Berlin"), "lives in") is True
    assert await memory.entities.unrelate(alice, ("place", "Berlin"), "lives in") is False


async def test_memories_and_entities_are_linked(memory: Any) -> None:
    alice = await memory.entities.upsert("person", "Alice")
    (memory_id,) = (await memory.retain("Alice moved to Berlin.")).memory_ids
    assert await memory.entities.mentions(alice) == [memory_id]
    assert [entity.name for entity in await memory.entities.mentioned(memory_id)] == ["Alice"]


async def test_entities_are_listed_by_prefix_and_order_with_counts(memory: Any) -> None:
    alice = await memory.entities.upsert("person", "Alice", facts={"age": 41}, salience=0.9)
    rome = await memory.entities.upsert("place", "Rome", aliases=["All roads"])
    await memory.entities.relate(alice, rome, "lives in")
    (memory_id,) = (await memory.retain("Alice moved.")).memory_ids
    found = await memory.entities.list(prefix="AL", order="salience", with_counts=True)
    assert [(entity.name, entity.counts) for entity in found] == [
        ("Alice", EntityCounts(1, 1, 1)),
        ("Rome", EntityCounts(0, 0, 1)),
    ]
    totals = EntityTotals(2, {"person": 1, "place": 1}, is_complete=True)
    assert await memory.entities.count(prefix="al") == totals
    assert await memory.entities.mentioning(alice) == [await memory.memories.get(memory_id)]
    with pytest.raises(InvalidInputError, match="order"):
        await memory.entities.list(order="age")


async def test_a_graph_and_an_entity_are_read_as_of_a_moment(memory: Any) -> None:
    alice = await memory.entities.upsert("person", "Alice", facts={"age": 41})
    rome = await memory.entities.upsert("place", "Rome")
    related = await memory.entities.relate(alice, rome, "lives in")
    moment = (await memory.state.set("clock", 1)).updated_at
    await memory.entities.unrelate(alice, rome, "lives in")
    await memory.entities.upsert("person", "Alice", facts={"age": 42})
    for as_of in (moment, moment.isoformat()):
        assert (await memory.entities.graph(alice, as_of=as_of)).relations == (related,)
        assert (await memory.entities.top_graph(as_of=as_of)).relations == (related,)
        assert (await memory.entities.get(alice, as_of=as_of)).facts == {"age": 41}
    assert (await memory.entities.top_graph(limit=5)).relations == ()
    with pytest.raises(NotFoundError):
        await memory.entities.get(alice, as_of="2020-01-01")


async def test_a_deleted_entity_can_be_restored(memory: Any) -> None:
    alice = await memory.entities.upsert("person", "Alice")
    archived = await memory.entities.delete("person", "Alice")
    assert isinstance(archived, ArchivedEntity)
    assert await memory.entities.archived() == [archived]
    assert (await memory.entities.restore(alice.entity_id)).name == "Alice"


async def test_triples(memory: Any) -> None:
    stated = await memory.triples.add("Alice", "lives in", "Berlin", confidence=0.5)
    assert isinstance(stated, Triple)
    assert await memory.triples.list(object="Berlin") == [stated]
    assert await memory.triples.remove(stated) is True
    assert await memory.triples.remove(stated.triple_id) is False


async def test_state_is_any_json(memory: Any) -> None:
    documents: list[Any] = [{"a": [1, 2.5, None, True, "ü\n"]}, [], None, "null", 0.1, 2**60, {"": {}}]
    for document in documents:
        written = await memory.state.set("settings/ü", document)
        assert isinstance(written, StateDocument)
        assert written.document == document
        assert type(written.document) is type(document)
        assert await memory.state.get("settings/ü") == written
        assert await memory.state.list(prefix="sett") == [written]


async def test_state_has_versions(memory: Any) -> None:
    assert await memory.state.get("k") is None
    await memory.state.set("k", 1, expected_version=0)
    with pytest.raises(ConflictError):
        await memory.state.set("k", 2, expected_version=0)
    assert await memory.state.delete("k", expected_version=7) is False
    assert await memory.state.delete("k", expected_version=1) is True


async def test_the_journal(memory: Any) -> None:
    entry = await memory.journal.append(evaluated="all", acted=["x", 1], extra={"cycle": 7}, at=WHEN)
    assert isinstance(entry, JournalEvent)
    assert entry.at == WHEN
    assert await memory.journal.list(since=WHEN, until="2026-03-02T00:00:00Z") == [entry]


async def test_amounts_are_exact(memory: Any) -> None:
    amounts: list[Decimal | str | int] = [Decimal("0.10"), "0.20", 3]
    for amount in amounts:
        event = await memory.revenue.append(amount, "EUR", source="fee", at=WHEN)
        assert isinstance(event, RevenueEvent)
        assert event.amount == Decimal(amount)
    assert await memory.revenue.totals() == [RevenueTotal("EUR", Decimal("3.30"), 3)]
    assert [event.amount for event in await memory.revenue.list(currency="EUR", limit=1)] == [3]


async def test_errors_and_metrics_of_other_systems(memory: Any) -> None:
    error = await memory.errors.record("timeout", "The mail server is silent.", detail={"tries": 3})
    assert isinstance(error, ErrorEvent)
    assert await memory.errors.list(kind="timeout", severity="medium") == [error]
    measured = await memory.metrics.record("recall", "latency", 12.345, metadata={"cold": True})
    assert isinstance(measured, MetricEvent)
    (summary,) = await memory.metrics.summary(name="latency")
    assert isinstance(summary, MetricSummary)
    assert (summary.count, summary.mean, summary.p99) == (1, 12.345, 12.345)


async def test_actors_are_flagged_and_cleared(memory: Any) -> None:
    flag = await memory.actors.flag("mallory/x", reason="lies", severity="high", evidence=["seen", "heard"])
    assert isinstance(flag, ActorFlag)
    assert flag.evidence == ["seen", "heard"]
    assert await memory.actors.list(actor="mallory/x") == [flag]
    assert await memory.actors.is_flagged("mallory/x") is True
    assert await memory.actors.clear("mallory/x", reason="proved") == 1
    assert await memory.actors.is_flagged("mallory/x") is False
    assert await memory.actors.list() == []
    assert len(await memory.actors.list(include_cleared=True)) == 1


async def test_attributes_of_processes(memory: Any) -> None:
    known = await memory.processes.set("zone", {"tz": "UTC"}, process="mailer", provenance="measured")
    assert isinstance(known, ProcessAttribute)
    assert await memory.processes.get("zone", process="mailer") == known
    assert await memory.processes.get("zone") is None
    assert await memory.processes.list(process="mailer") == [known]


async def test_the_map_of_memories_is_asked_for_and_read(memory: Any) -> None:
    await memory.retain("Alice moved to Berlin.")
    asked = await memory.memories.make_map()
    assert isinstance(asked, MemoryMap)
    assert (asked.points, asked.made_at, asked.job_state in ("waiting", "running", None)) == ((), None, True)
    found = await memory.memories.map(categories=["factual"], limit=10)
    assert isinstance(found, MemoryMap)
    with pytest.raises(InvalidInputError, match="limit"):
        await memory.memories.map(limit=0)
