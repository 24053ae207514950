"""Relations between entities, and walks along them."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from mnemic.db.tenancy import Tenant
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.knowledge import graph as graph_module
from mnemic.knowledge.graph import GRAPH_DEPTH_MAX, GRAPH_NODES_MAX
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.entity import Entity, EntityGraph
from tests.conftest import AppConnection
from tests.knowledge.conftest import WriteMemories
from tests.many_writers import WRITERS
from tests.two_tenants import CountRows


async def things(memory: AsyncMemory, *names: str) -> list[Entity]:
    return [await memory.entities.upsert("thing", name) for name in names]


async def connect(memory: AsyncMemory, pairs: str, kind: str = "knows") -> None:
    """Relate things that are written as `ab bc`: a to b, b to c."""
    for pair in pairs.split():
        start, end = pair[0], pair[1]
        for name in pair:
            await memory.entities.upsert("thing", name)
        await memory.entities.relate(("thing", start), ("thing", end), kind)


def depths(graph: EntityGraph) -> dict[str, int]:
    return {node.name: node.depth for node in graph.nodes}


async def test_a_relation_is_read_as_it_was_written(
    memory: AsyncMemory, write_memories: WriteMemories
) -> None:
    ada, acme = await things(memory, "Ada", "Acme")
    (memory_id,) = await write_memories(["She works there."])
    relation = await memory.entities.relate(
        ada, ("thing", "ACME"), "works at", confidence=0.5, provenance="measured", evidence=memory_id
    )
    assert (relation.from_id, relation.to_id, relation.kind) == (ada.entity_id, acme.entity_id, "works at")
    assert (relation.confidence, relation.provenance, relation.memory_id) == (0.5, "measured", memory_id)
    assert await memory.entities.mentions(ada) == await memory.entities.mentions(acme) == [memory_id]


async def test_relating_again_updates_the_relation_and_keeps_its_evidence(
    memory: AsyncMemory, write_memories: WriteMemories
) -> None:
    ada, acme = await things(memory, "Ada", "Acme")
    (memory_id,) = await write_memories(["She works there."])
    first = await memory.entities.relate(ada, acme, "works at", confidence=0.5, evidence=memory_id)
    second = await memory.entities.relate(ada, acme, "works at", provenance="measured")
    assert (second.confidence, second.provenance, second.memory_id) == (1.0, "measured", memory_id)
    assert (second.created_at, second.updated_at > first.updated_at) == (first.created_at, True)
    graph = await memory.entities.graph(ada)
    assert graph.relations == (second,)


async def test_kind_and_direction_distinguish_relations(memory: AsyncMemory) -> None:
    await connect(memory, "ab ba")
    await connect(memory, "ab", kind="owns")
    graph = await memory.entities.graph(("thing", "a"))
    assert len(graph.relations) == 3
    assert await memory.entities.unrelate(("thing", "a"), ("thing", "b"), "owns") is True
    assert await memory.entities.unrelate(("thing", "a"), ("thing", "b"), "owns") is False
    assert len((await memory.entities.graph(("thing", "a"))).relations) == 2


async def test_deleting_an_entity_deletes_its_relations(memory: AsyncMemory, admin: AppConnection) -> None:
    await connect(memory, "ab bc ca")
    await memory.entities.delete("thing", "b")
    counting = "SELECT count(*) FROM state.entity_relations WHERE tenant_id = %s"
    assert admin.execute(counting, [memory.tenant.id]).fetchone() == (1,)


async def test_a_chain_is_walked_to_its_depth(memory: AsyncMemory) -> None:
    await connect(memory, "ab bc cd de")
    assert depths(await memory.entities.graph(("thing", "a"), depth=1)) == {"a": 0, "b": 1}
    graph = await memory.entities.graph(("thing", "a"), depth=3)
    assert depths(graph) == {"a": 0, "b": 1, "c": 2, "d": 3}
    assert len(graph.relations) == 3
    assert graph.is_complete


async def test_relations_are_followed_both_ways(memory: AsyncMemory) -> None:
    await connect(memory, "ab cb cd")
    assert depths(await memory.entities.graph(("thing", "a"), depth=3)) == {"a": 0, "b": 1, "c": 2, "d": 3}


async def test_cycles_end_and_every_node_comes_once_at_its_least_depth(memory: AsyncMemory) -> None:
    await connect(memory, "ab bc cd da ac ba")
    graph = await memory.entities.graph(("thing", "a"), depth=GRAPH_DEPTH_MAX)
    assert depths(graph) == {"a": 0, "b": 1, "c": 1, "d": 1}
    assert (len(graph.nodes), len(graph.relations), graph.is_complete) == (4, 6, True)


async def test_an_entity_alone_is_its_own_graph(memory: AsyncMemory) -> None:
    (ada,) = await things(memory, "Ada")
    graph = await memory.entities.graph(ada)
    assert (depths(graph), graph.relations, graph.is_complete) == ({"Ada": 0}, (), True)


async def test_only_relations_of_the_wanted_kinds_count(memory: AsyncMemory) -> None:
    await connect(memory, "ab")
    await connect(memory, "bc", kind="owns")
    graph = await memory.entities.graph(("thing", "a"), kinds=["knows"])
    assert depths(graph) == {"a": 0, "b": 1}
    assert depths(await memory.entities.graph(("thing", "a"), kinds=["knows", "owns"])) == {
        "a": 0,
        "b": 1,
        "c": 2,
    }
    assert depths(await memory.entities.graph(("thing", "a"), kinds=["hates"])) == {"a": 0}


def make_star(admin: AppConnection, tenant: Tenant, size: int) -> UUID:
    """An entity with `size` others around it, every third of which points at it."""
    (hub,) = admin.execute(
        "INSERT INTO state.entities (tenant_id, owner, category, name, process)"
        " VALUES (%s, 'alice', 'thing', 'hub', 'test') RETURNING entity_id",
        (tenant.id,),
    ).fetchone() or (None,)
    admin.execute(
        "WITH rays AS ("
        " INSERT INTO state.entities (tenant_id, owner, category, name, process)"
        " SELECT %(tenant)s, 'alice', 'thing', 'ray ' || n, 'test' FROM generate_series(1, %(size)s) AS n"
        " RETURNING entity_id, substr(name, 5)::int AS n)"
        " INSERT INTO state.entity_relations (tenant_id, owner, from_id, to_id, kind, confidence, process)"
        " SELECT %(tenant)s, 'alice', CASE WHEN n %% 3 = 0 THEN entity_id ELSE %(hub)s END,"
        "  CASE WHEN n %% 3 = 0 THEN %(hub)s ELSE entity_id END, 'ray', 1.0 / n, 'test' FROM rays",
        {"tenant": tenant.id, "hub": hub, "size": size},
    )
    assert isinstance(hub, UUID)
    return hub


async def test_a_limit_keeps_the_most_confident_relations_and_marks_the_graph_incomplete(
    memory: AsyncMemory, admin: AppConnection, tenant_a: Tenant
) -> None:
    hub = make_star(admin, tenant_a, 50)
    graph = await memory.entities.graph(hub, limit=11, depth=1)
    assert [node.name for node in graph.nodes] == ["hub", *(f"ray {number}" for number in range(1, 11))]
    assert (len(graph.relations), graph.is_complete) == (10, False)
    assert (await memory.entities.graph(hub, limit=51, depth=3)).is_complete
    assert not (await memory.entities.graph(hub, limit=50, depth=3)).is_complete


async def test_the_walk_reads_a_bounded_number_of_relations_per_entity(
    memory: AsyncMemory, admin: AppConnection, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = make_star(admin, tenant_a, 90)
    monkeypatch.setattr(graph_module, "GRAPH_STEP_RELATIONS_MAX", 20)
    graph = await memory.entities.graph(hub, limit=GRAPH_NODES_MAX, depth=1)
    assert (len(graph.nodes), graph.is_complete) == (1 + 2 * 21, False)
    monkeypatch.setattr(graph_module, "GRAPH_RELATIONS_MAX", 5)
    graph = await memory.entities.graph(hub, limit=3, depth=1)
    assert (len(graph.nodes), len(graph.relations)) == (3, 2)
    assert len((await memory.entities.graph(hub, depth=1)).relations) == 5


async def test_a_graph_never_leaves_its_owner_or_tenant(
    memory: AsyncMemory, foreign_memory: AsyncMemory, admin: AppConnection
) -> None:
    for whose in (memory, memory.scope(owner="bob"), foreign_memory):
        await connect(whose, "ab")
    graph = await memory.entities.graph(("thing", "a"))
    assert len(graph.nodes) == 2
    foreign = await foreign_memory.entities.get("thing", "b")
    bobs = await memory.entities.get("thing", "b", owner="bob")
    mine = await memory.entities.get("thing", "a")
    for stranger in (foreign, bobs):
        # Not even the superuser can relate across: the keys of both ends carry one tenant and owner.
        with pytest.raises(Exception, match="foreign key"):
            admin.execute(
                "INSERT INTO state.entity_relations (tenant_id, owner, from_id, to_id, kind, process)"
                " SELECT tenant_id, owner, entity_id, %s, 'x', 'x' FROM state.entities WHERE entity_id = %s",
                (stranger.entity_id, mine.entity_id),
            )


async def test_entities_and_evidence_of_other_owners_are_not_found(
    memory: AsyncMemory,
    foreign_memory: AsyncMemory,
    write_memories: WriteMemories,
    tenant_b: Tenant,
    count_rows: CountRows,
) -> None:
    ada, acme = await things(memory, "Ada", "Acme")
    (eve,) = await things(foreign_memory, "Eve")
    (bob,) = await things(memory.scope(owner="bob"), "Bob")
    (foreign_evidence,) = await write_memories(["a secret"], tenant=tenant_b)
    (bobs_evidence,) = await write_memories(["a secret"], owner="bob")
    before = count_rows()
    calls: list[Callable[[], Coroutine[Any, Any, Any]]] = [
        lambda: memory.entities.relate(ada, eve, "knows"),
        lambda: memory.entities.relate(eve.entity_id, ada, "knows"),
        lambda: memory.entities.relate(ada, bob, "knows"),
        lambda: memory.entities.relate(ada, uuid4(), "knows"),
        lambda: memory.entities.relate(ada, ("thing", "Eve"), "knows"),
        lambda: memory.entities.relate(ada, acme, "knows", evidence=foreign_evidence),
        lambda: memory.entities.relate(ada, acme, "knows", evidence=bobs_evidence),
        lambda: memory.entities.graph(eve),
        lambda: memory.entities.graph(bob.entity_id),
    ]
    for call in calls:
        with pytest.raises(NotFoundError) as error:
            await call()
        assert "Eve" not in str(error.value) or "thing 'Eve'" in str(error.value)
    assert await memory.entities.unrelate(eve, ada, "knows") is False
    assert count_rows() == before


BAD: list[tuple[str, Callable[[AsyncMemory, Entity, Entity], Coroutine[Any, Any, Any]]]] = [
    ("itself", lambda memory, a, b: memory.entities.relate(a, a, "knows")),
    ("itself", lambda memory, a, b: memory.entities.relate(a, ("thing", "A"), "knows")),
    ("kind", lambda memory, a, b: memory.entities.relate(a, b, "")),
    ("kind", lambda memory, a, b: memory.entities.relate(a, b, "x" * 257)),
    ("kind", lambda memory, a, b: memory.entities.relate(a, b, "x\0")),
    ("kind", lambda memory, a, b: memory.entities.relate(a, b, None)),  # type: ignore[arg-type]
    ("confidence", lambda memory, a, b: memory.entities.relate(a, b, "knows", confidence=1.2)),
    ("provenance", lambda memory, a, b: memory.entities.relate(a, b, "knows", provenance="x")),  # type: ignore[arg-type]
    ("evidence", lambda memory, a, b: memory.entities.relate(a, b, "knows", evidence="a memory")),
    ("from_entity", lambda memory, a, b: memory.entities.relate("a", b, "knows")),
    ("to_entity", lambda memory, a, b: memory.entities.relate(a, None, "knows")),  # type: ignore[arg-type]
    ("kind", lambda memory, a, b: memory.entities.unrelate(a, b, "")),
    ("start", lambda memory, a, b: memory.entities.graph("a")),
    ("depth", lambda memory, a, b: memory.entities.graph(a, depth=0)),
    ("depth", lambda memory, a, b: memory.entities.graph(a, depth=GRAPH_DEPTH_MAX + 1)),
    ("depth", lambda memory, a, b: memory.entities.graph(a, depth=True)),
    ("limit", lambda memory, a, b: memory.entities.graph(a, limit=0)),
    ("limit", lambda memory, a, b: memory.entities.graph(a, limit=GRAPH_NODES_MAX + 1)),
    ("kinds", lambda memory, a, b: memory.entities.graph(a, kinds="knows")),
    ("kinds", lambda memory, a, b: memory.entities.graph(a, kinds=[])),
    ("kind", lambda memory, a, b: memory.entities.graph(a, kinds=["\0"])),
]


async def test_bad_input_is_refused_and_nothing_is_written(
    memory: AsyncMemory, count_rows: CountRows, subtests: pytest.Subtests
) -> None:
    ends = await things(memory, "a", "b")
    before = count_rows()
    for said, call in BAD:
        with subtests.test(said):
            with pytest.raises(InvalidInputError, match=said):
                await call(memory, *ends)
            assert count_rows() == before


async def test_sixteen_writers_of_one_relation_make_one(wide_memory: AsyncMemory) -> None:
    await things(wide_memory, "a", "b")
    stated = await asyncio.gather(
        *(
            wide_memory.entities.relate(("thing", "a"), ("thing", "b"), "knows", confidence=number / WRITERS)
            for number in range(WRITERS)
        )
    )
    graph = await wide_memory.entities.graph(("thing", "a"))
    assert len(graph.relations) == 1
    assert graph.relations[0] in stated


async def test_concurrent_relates_and_deletes_leave_no_dangling_relation(
    wide_memory: AsyncMemory, admin: AppConnection
) -> None:
    async def attempt(number: int) -> None:
        try:
            if number % 4:
                await wide_memory.entities.relate(("thing", "a"), ("thing", "b"), f"kind {number}")
            else:
                await wide_memory.entities.delete("thing", "b")
        except NotFoundError:
            pass

    for _ in range(3):
        await things(wide_memory, "a", "b")
        await asyncio.gather(*map(attempt, range(WRITERS)))
    lost = admin.execute(
        "SELECT count(*) FROM state.entity_relations"
        " WHERE to_id NOT IN (SELECT entity_id FROM state.entities)"
    ).fetchone()
    assert lost == (0,)


async def test_a_graph_shows_the_relations_of_a_moment(memory: AsyncMemory) -> None:
    await connect(memory, "ab bc")
    before = await now(memory)
    await connect(memory, "cd")
    await memory.entities.unrelate(("thing", "a"), ("thing", "b"), "knows")
    after = await now(memory)
    await connect(memory, "ab", kind="owns")

    async def read(as_of: datetime | str | None) -> tuple[dict[str, int], set[str]]:
        graph = await memory.entities.graph(("thing", "b"), depth=3, as_of=as_of)
        return depths(graph), {relation.kind for relation in graph.relations}

    assert await read(None) == ({"b": 0, "a": 1, "c": 1, "d": 2}, {"knows", "owns"})
    assert await read(before) == ({"b": 0, "a": 1, "c": 1}, {"knows"})
    assert await read(after.isoformat()) == ({"b": 0, "c": 1, "d": 2}, {"knows"})
    with pytest.raises(NotFoundError):
        await read("2020-01-01")
    with pytest.raises(InvalidInputError, match="as_of"):
        await read("yesterday")


async def test_the_most_salient_entities_are_read_with_their_relations(memory: AsyncMemory) -> None:
    await connect(memory, "ab bc cd")
    before = await now(memory)
    await memory.entities.upsert("place", "Rome", salience=1.0)
    for name, salience in zip("abcd", (0.9, 0.2, 0.8, 0.7), strict=True):
        await memory.entities.upsert("thing", name, salience=salience)
    graph = await memory.entities.top_graph(limit=4)
    assert depths(graph) == {"Rome": 0, "a": 0, "c": 0, "d": 0}
    assert [node.name for node in graph.nodes] == ["Rome", "a", "c", "d"]
    assert [relation.kind for relation in graph.relations] == ["knows"]
    assert not graph.is_complete
    things_only = await memory.entities.top_graph(category="thing")
    assert (set(depths(things_only)), len(things_only.relations), things_only.is_complete) == (
        set("abcd"),
        3,
        True,
    )
    assert set(depths(await memory.entities.top_graph(as_of=before))) == set("abcd")
    assert (await memory.entities.top_graph(kinds=["owns"])).relations == ()
    assert (await memory.entities.top_graph(owner="bob")).nodes == ()
    for arguments in ({"limit": 0}, {"limit": GRAPH_NODES_MAX + 1}, {"kinds": "knows"}, {"as_of": 7}):
        with pytest.raises(InvalidInputError):
            await memory.entities.top_graph(**arguments)


async def test_an_entity_is_read_as_it_was_known(memory: AsyncMemory) -> None:
    ada = await memory.entities.upsert("person", "Ada", facts={"city": "Rome", "age": 41})
    before = await now(memory)
    await memory.entities.upsert("person", "Ada", facts={"city": "Oslo"}, aliases=["Countess"])
    then = await memory.entities.get(ada, as_of=before)
    assert (then.facts, then.aliases) == ({"city": "Rome", "age": 41}, ())
    assert (await memory.entities.get(ada, as_of=await now(memory))) == await memory.entities.get(ada)
    with pytest.raises(NotFoundError):
        await memory.entities.get("person", "Ada", as_of="2020-01-01")
    with pytest.raises(NotFoundError):
        await memory.entities.get(ada, as_of=before, owner="bob")


async def test_removed_relations_of_other_owners_are_not_followed(
    memory: AsyncMemory, admin: AppConnection
) -> None:
    await connect(memory, "ab")
    await memory.entities.unrelate(("thing", "a"), ("thing", "b"), "knows")
    admin.execute("UPDATE state.removed_relations SET owner = 'bob', removed_at = 'infinity'")
    graph = await memory.entities.graph(("thing", "a"), as_of=await now(memory))
    assert (set(depths(graph)), graph.relations) == ({"a"}, ())


async def now(memory: AsyncMemory) -> datetime:
    """The time of the database, between two writes."""
    return (await memory.state.set("clock", {})).updated_at
