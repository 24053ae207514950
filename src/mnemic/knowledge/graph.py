"""Relations between entities, and walks through their graph."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import InvalidInputError
from mnemic.knowledge.entity_lists import EntityFilter
from mnemic.knowledge.mentions import link_entities
from mnemic.knowledge.references import check_origin, check_reference, lock_evidence, not_found, resolve
from mnemic.types.checks import check_time
from mnemic.types.entity import EntityGraph, EntityNode, EntityReference, EntityRelation
from mnemic.types.scope import Scope, check_name

GRAPH_DEPTH_MAX = 6
GRAPH_NODES_MAX = 1_000
# Relations read per step of the walk and direction; the graph is marked incomplete if there are more.
GRAPH_STEP_RELATIONS_MAX = 10_000
GRAPH_RELATIONS_MAX = 10_000
GRAPH_KINDS_MAX = 64


async def relate(
    database: TenantDatabase,
    scope: Scope,
    from_entity: EntityReference,
    to_entity: EntityReference,
    kind: str,
    *,
    confidence: float,
    provenance: str,
    evidence: object,
) -> EntityRelation:
    """Relate two entities of the owner; relating them again updates confidence and provenance."""
    owner = scope.require_owner()
    ends = check_reference("from_entity", from_entity), check_reference("to_entity", to_entity)
    given = {"kind": check_name("kind", kind), **check_origin(confidence, provenance, evidence)}

    async def write(transaction: Transaction) -> EntityRelation:
        await lock_evidence(transaction, owner, given["memory_id"])
        from_id, to_id = [await resolve(transaction, owner, end) for end in ends]
        if from_id == to_id:
            raise InvalidInputError("An entity cannot be related to itself.")
        held = await transaction.rows("entities.hold", {"owner": owner, "entity_ids": [from_id, to_id]})
        for entity_id in (from_id, to_id):
            if {"entity_id": entity_id} not in held:
                raise not_found(entity_id)
        parameters = {
            **given,
            "tenant_id": transaction.tenant.id,
            "owner": owner,
            "process": scope.process,
            "from_id": from_id,
            "to_id": to_id,
        }
        relation = EntityRelation(**await transaction.one("entity_relations.put", parameters))
        if relation.memory_id is not None:
            await link_entities(transaction, owner, relation.memory_id, [from_id, to_id])
        return relation

    return await database.run(write)


async def unrelate(
    database: TenantDatabase,
    scope: Scope,
    from_entity: EntityReference,
    to_entity: EntityReference,
    kind: str,
) -> bool:
    """Delete a relation; returns whether it existed."""
    owner = scope.require_owner()
    ends = check_reference("from_entity", from_entity), check_reference("to_entity", to_entity)
    check_name("kind", kind)
    async with database.transaction() as transaction:
        from_id, to_id = [await resolve(transaction, owner, end) for end in ends]
        parameters = {"owner": owner, "from_id": from_id, "to_id": to_id, "kind": kind}
        return await transaction.execute("entity_relations.delete", parameters) > 0


async def read_graph(
    database: TenantDatabase,
    scope: Scope,
    start: EntityReference,
    *,
    depth: int,
    limit: int,
    kinds: Sequence[str] | None,
    as_of: datetime | str | None,
) -> EntityGraph:
    """The entities within `depth` relations of an entity, in either direction, nearest first."""
    owner, reference = scope.require_owner(), check_reference("start", start)
    parameters = {
        "depth": _check_bound("depth", depth, GRAPH_DEPTH_MAX),
        "limit": _check_bound("limit", limit, GRAPH_NODES_MAX),
        "edges_max": GRAPH_STEP_RELATIONS_MAX,
        **_check_relations(owner, kinds, as_of),
    }
    async with database.transaction() as transaction:
        start_id = await resolve(transaction, owner, reference)
        reached = await transaction.rows("entity_relations.walk", {**parameters, "start_id": start_id})
        if not reached:
            raise not_found(reference)
        cuts = [row.pop("is_cut") for row in reached]
        nodes = [EntityNode(**row) for row in reached]
        return await _graph_of(transaction, nodes, parameters, is_complete=not any(cuts))


async def read_top_graph(
    database: TenantDatabase,
    scope: Scope,
    *,
    category: str | None,
    limit: int,
    kinds: Sequence[str] | None,
    as_of: datetime | str | None,
) -> EntityGraph:
    """The most salient entities, and the relations between them."""
    owner = scope.require_owner()
    parameters = {
        **EntityFilter(category=category).parameters(owner),
        "limit": _check_bound("limit", limit, GRAPH_NODES_MAX) + 1,
        **_check_relations(owner, kinds, as_of),
    }
    async with database.transaction() as transaction:
        rows = await transaction.rows("entities.most_salient", parameters)
        nodes = [EntityNode(**row, depth=0) for row in rows[:limit]]
        return await _graph_of(transaction, nodes, parameters, is_complete=len(rows) <= limit)


async def _graph_of(
    transaction: Transaction, nodes: Sequence[EntityNode], parameters: dict[str, Any], *, is_complete: bool
) -> EntityGraph:
    """A graph of these nodes; it is not complete if they have more relations than a graph may have."""
    between = {**parameters, "entity_ids": [node.entity_id for node in nodes]}
    relations = await transaction.rows("entity_relations.between", between)
    return EntityGraph(
        tuple(nodes),
        tuple(EntityRelation(**row) for row in relations[:GRAPH_RELATIONS_MAX]),
        is_complete=is_complete and len(relations) <= GRAPH_RELATIONS_MAX,
    )


def _check_relations(owner: str, kinds: Sequence[str] | None, as_of: datetime | str | None) -> dict[str, Any]:
    """Which relations a graph shows, as parameters of its queries."""
    return {
        "owner": owner,
        "kinds": _check_kinds(kinds),
        "as_of": check_time("as_of", as_of) if as_of is not None else None,
        "relations_max": GRAPH_RELATIONS_MAX + 1,
    }


def _check_bound(field: str, value: object, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidInputError(f"{field} must be a whole number from 1 to {most:,}.")
    return value


def _check_kinds(kinds: object) -> list[str] | None:
    if kinds is None:
        return None
    if isinstance(kinds, str) or not isinstance(kinds, Sequence) or not 1 <= len(kinds) <= GRAPH_KINDS_MAX:
        raise InvalidInputError(
            f"kinds must be a list of 1 to {GRAPH_KINDS_MAX} kinds of relations, or None for all."
        )
    return [check_name("a kind", kind) for kind in kinds]
