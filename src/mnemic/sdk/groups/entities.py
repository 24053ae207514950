"""`memory.entities`: who and what an owner knows, and how they hang together."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from mnemic.govern.audit import audited
from mnemic.knowledge import archive, entities, graph
from mnemic.knowledge.entities import EntityInput
from mnemic.knowledge.references import check_reference
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.entity import (
    ArchivedEntity,
    Entity,
    EntityFact,
    EntityGraph,
    EntityReference,
    EntityRelation,
)
from mnemic.types.memory import Provenance


class AsyncEntities(CallGroup):
    """People, projects, products and whatever else memories are about.

    A call names an entity by its id, by the entity itself, or by category and name. Upper and lower case
    make no difference in categories and names. An alias will do where only one entity of the category
    has it; aliases may be shared, and `find` gives all who bear one.
    """

    @routed("entities.upsert")
    async def upsert(
        self,
        category: str,
        name: str,
        *,
        facts: Mapping[str, Any] | None = None,
        aliases: Iterable[str] = (),
        salience: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        confidence: float = 1.0,
        provenance: Provenance = "witnessed",
        evidence: UUID | str | None = None,
        owner: str | None = None,
    ) -> Entity:
        """Make an entity or add to it, and return it as it is now.

        Facts and metadata are merged key by key; a new value retires the old one, which `history` still
        shows. Aliases are added, and memories that mention a new name are linked to the entity.
        `confidence`, `provenance` and `evidence` (a memory's id) say where the facts come from.
        """
        given = EntityInput(
            category,
            name,
            facts if facts is not None else {},
            aliases,
            salience,
            metadata if metadata is not None else {},
            confidence,
            provenance,
            evidence,
        )
        return await entities.upsert_entity(self._caller.database, self._caller.scoped(owner), given)

    @routed("entities.get")
    async def get(
        self, entity: EntityReference, name: str | None = None, *, owner: str | None = None
    ) -> Entity:
        """One entity, by its id or as `get(category, name)`; NotFoundError if the owner does not have it."""
        return await entities.get_entity(self._caller.database, self._caller.scoped(owner), entity, name)

    @routed("entities.find")
    async def find(
        self, name: str, *, category: str | None = None, limit: int = 100, owner: str | None = None
    ) -> Sequence[Entity]:
        """Every entity with this name or alias: those whose own name it is first, then by salience."""
        return await entities.find_entities(
            self._caller.database, self._caller.scoped(owner), name, category=category, limit=limit
        )

    @routed("entities.list")
    async def list(
        self,
        *,
        category: str | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[Entity]:
        """Entities, newest first; `before` is the last id of the page before."""
        return await entities.list_entities(
            self._caller.database, self._caller.scoped(owner), category=category, before=before, limit=limit
        )

    @routed("entities.history")
    async def history(
        self,
        entity: EntityReference,
        *,
        attribute: str | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[EntityFact]:
        """What is and was known about an entity, newest first, with where it comes from."""
        return await entities.read_fact_history(
            self._caller.database,
            self._caller.scoped(owner),
            entity,
            attribute=attribute,
            before=before,
            limit=limit,
        )

    @routed("entities.mentions")
    async def mentions(
        self,
        entity: EntityReference,
        *,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[UUID]:
        """The ids of the memories that mention an entity, newest first."""
        return await entities.list_mentions(
            self._caller.database, self._caller.scoped(owner), entity, before=before, limit=limit
        )

    @routed("entities.mentioned")
    async def mentioned(
        self, memory_id: UUID | str, *, limit: int = 100, owner: str | None = None
    ) -> Sequence[Entity]:
        """The entities that a memory mentions, the most salient first."""
        return await entities.list_mentioned(
            self._caller.database, self._caller.scoped(owner), memory_id, limit=limit
        )

    @routed("entities.delete")
    async def delete(
        self, entity: EntityReference, name: str | None = None, *, owner: str | None = None
    ) -> ArchivedEntity:
        """Move an entity, its facts, relations and links into the archive, by its id or category and name.

        The audit log tells of it.
        """
        database, scope = self._caller.database, self._caller.scoped(owner)
        reference = check_reference("entity", entity, name)
        async with audited(database, scope, action="delete_entity", target=str(reference)) as act:
            return await archive.delete_entity(database, scope, reference, and_then=act.commit_with)

    @routed("entities.archived")
    async def archived(
        self, *, before: UUID | str | None = None, limit: int = 100, owner: str | None = None
    ) -> Sequence[ArchivedEntity]:
        """Deleted entities, the last deleted first; `before` is the last id of the page before."""
        return await archive.list_archived(
            self._caller.database, self._caller.scoped(owner), before=before, limit=limit
        )

    @routed("entities.restore")
    async def restore(
        self, entity: EntityReference, name: str | None = None, *, owner: str | None = None
    ) -> Entity:
        """Bring a deleted entity back, by its id or the last one of that category and name.

        Relations and links whose other end is gone stay away. ConflictError if there is an entity of
        that name again.
        """
        return await archive.restore_entity(self._caller.database, self._caller.scoped(owner), entity, name)

    @routed("entities.relate")
    async def relate(
        self,
        from_entity: EntityReference,
        to_entity: EntityReference,
        kind: str,
        *,
        confidence: float = 1.0,
        provenance: Provenance = "witnessed",
        evidence: UUID | str | None = None,
        owner: str | None = None,
    ) -> EntityRelation:
        """Relate two entities; stating it again renews confidence, provenance and evidence."""
        return await graph.relate(
            self._caller.database,
            self._caller.scoped(owner),
            from_entity,
            to_entity,
            kind,
            confidence=confidence,
            provenance=provenance,
            evidence=evidence,
        )

    @routed("entities.unrelate")
    async def unrelate(
        self, from_entity: EntityReference, to_entity: EntityReference, kind: str, *, owner: str | None = None
    ) -> bool:
        """Take a relation away; returns whether there was one."""
        return await graph.unrelate(
            self._caller.database, self._caller.scoped(owner), from_entity, to_entity, kind
        )

    @routed("entities.graph")
    async def graph(
        self,
        start: EntityReference,
        *,
        depth: int = 2,
        limit: int = 100,
        kinds: Sequence[str] | None = None,
        owner: str | None = None,
    ) -> EntityGraph:
        """What can be reached from an entity within `depth` relations, nearest first.

        `limit` is the most entities that it gives, the start included. Relations are followed both
        ways; `kinds` lets only some of them count.
        """
        return await graph.read_graph(
            self._caller.database, self._caller.scoped(owner), start, depth=depth, limit=limit, kinds=kinds
        )
