"""`memory.entities`: the entities of an owner and the relations between them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.govern.audit import audited
from mnemic.knowledge import archive, entities, entity_lists, graph
from mnemic.knowledge.entities import EntityInput
from mnemic.knowledge.entity_lists import EntityFilter
from mnemic.knowledge.references import check_reference
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.entity import (
    ArchivedEntity,
    Entity,
    EntityFact,
    EntityGraph,
    EntityOrder,
    EntityReference,
    EntityRelation,
    EntityTotals,
)
from mnemic.types.memory import MemoryRecord, Provenance


class AsyncEntities(CallGroup):
    """People, projects, products and other things that memories are about.

    A call names an entity by its id, by the entity itself, or by category and name. Categories and names are
    not case-sensitive. An alias works as a name if only one entity of the category has it; several entities
    may share an alias, and `find` returns all of them.
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
        """Create an entity or add to it, and return it.

        Facts and metadata are merged key by key; a new value replaces the old one, which `history` still
        returns. Aliases are added, and memories that mention a new name are linked to the entity.
        `confidence`, `provenance` and `evidence` (the id of a memory) describe the source of the facts.
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
        self,
        entity: EntityReference,
        name: str | None = None,
        *,
        as_of: datetime | str | None = None,
        owner: str | None = None,
    ) -> Entity:
        """Return one entity, by its id or as `get(category, name)`; NotFoundError if there is none.

        With `as_of`, it has the facts and aliases that it had at that moment; its salience is that of now.
        """
        return await entities.get_entity(
            self._caller.database, self._caller.scoped(owner), entity, name, as_of=as_of
        )

    @routed("entities.find")
    async def find(
        self, name: str, *, category: str | None = None, limit: int = 100, owner: str | None = None
    ) -> Sequence[Entity]:
        """Return the entities with this name or alias: matches of the name first, then by salience."""
        return await entities.find_entities(
            self._caller.database, self._caller.scoped(owner), name, category=category, limit=limit
        )

    @routed("entities.list")
    async def list(
        self,
        *,
        prefix: str | None = None,
        category: str | None = None,
        order: EntityOrder = "newest",
        with_counts: bool = False,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[Entity]:
        """Return entities, newest first; `before` is the id of the last entity of the previous page.

        `prefix` is the beginning of a name or alias. `order` is `newest`, `salience` (the most salient
        first), `mentions` (the most mentioned first) or `name`. With `with_counts`, each entity has the
        number of its mentions, facts and relations. An order by salience or mentions compares 2,000 entities,
        those that were stored as the most salient; a list by prefix the first 2,000 by name.
        """
        return await entity_lists.list_entities(
            self._caller.database,
            self._caller.scoped(owner),
            EntityFilter(prefix, category),
            order=order,
            with_counts=with_counts,
            before=before,
            limit=limit,
        )

    @routed("entities.count")
    async def count(
        self, *, prefix: str | None = None, category: str | None = None, owner: str | None = None
    ) -> EntityTotals:
        """Return how many entities `list` finds, in all and by category; counting stops at 10,000."""
        return await entity_lists.count_entities(
            self._caller.database, self._caller.scoped(owner), EntityFilter(prefix, category)
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
        """Return the current and earlier facts of an entity with their sources, newest first."""
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
        """Return the ids of the memories that mention an entity, newest first."""
        return await entities.list_mentions(
            self._caller.database, self._caller.scoped(owner), entity, before=before, limit=limit
        )

    @routed("entities.mentioning")
    async def mentioning(
        self,
        entity: EntityReference,
        *,
        as_of: datetime | str | None = None,
        include_forgotten: bool = False,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[MemoryRecord]:
        """Return the memories that mention an entity, newest first, whatever their status.

        With `as_of`, those whose text of that time mentions it, as they were known then.
        `mentions` returns only their ids, and those of forgotten memories, too.
        """
        return await entities.list_mentioning(
            self._caller.database,
            self._caller.scoped(owner),
            entity,
            as_of=as_of,
            include_forgotten=include_forgotten,
            before=before,
            limit=limit,
        )

    @routed("entities.mentioned")
    async def mentioned(
        self, memory_id: UUID | str, *, limit: int = 100, owner: str | None = None
    ) -> Sequence[Entity]:
        """Return the entities that a memory mentions, the most salient first."""
        return await entities.list_mentioned(
            self._caller.database, self._caller.scoped(owner), memory_id, limit=limit
        )

    @routed("entities.delete")
    async def delete(
        self, entity: EntityReference, name: str | None = None, *, owner: str | None = None
    ) -> ArchivedEntity:
        """Move an entity with its facts, relations and links to the archive, by id or by category and name.

        The deletion is recorded in the audit log.
        """
        database, scope = self._caller.database, self._caller.scoped(owner)
        reference = check_reference("entity", entity, name)
        async with audited(database, scope, action="delete_entity", target=str(reference)) as act:
            return await archive.delete_entity(database, scope, reference, and_then=act.commit_with)

    @routed("entities.archived")
    async def archived(
        self, *, before: UUID | str | None = None, limit: int = 100, owner: str | None = None
    ) -> Sequence[ArchivedEntity]:
        """Return deleted entities, the last deleted first; `before` is the last id of the previous page."""
        return await archive.list_archived(
            self._caller.database, self._caller.scoped(owner), before=before, limit=limit
        )

    @routed("entities.restore")
    async def restore(
        self, entity: EntityReference, name: str | None = None, *, owner: str | None = None
    ) -> Entity:
        """Restore a deleted entity, by its id, or the last deleted one of that category and name.

        Relations and links whose other end no longer exists are not restored. ConflictError if an entity of
        that name exists.
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
        """Relate two entities; relating them again updates confidence, provenance and evidence."""
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
        """Remove a relation; returns whether it existed."""
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
        as_of: datetime | str | None = None,
        owner: str | None = None,
    ) -> EntityGraph:
        """Return the entities within `depth` relations of an entity, nearest first.

        `limit` bounds the number of entities, including the start. Relations are followed in both directions;
        `kinds` restricts which ones. With `as_of`, it follows the relations that were known at that moment,
        also those that were removed since; entities that were deleted since are left out.
        """
        return await graph.read_graph(
            self._caller.database,
            self._caller.scoped(owner),
            start,
            depth=depth,
            limit=limit,
            kinds=kinds,
            as_of=as_of,
        )

    @routed("entities.top_graph")
    async def top_graph(
        self,
        *,
        category: str | None = None,
        limit: int = 50,
        kinds: Sequence[str] | None = None,
        as_of: datetime | str | None = None,
        owner: str | None = None,
    ) -> EntityGraph:
        """Return the most salient entities, and the relations between them, now or at the moment `as_of`."""
        return await graph.read_top_graph(
            self._caller.database,
            self._caller.scoped(owner),
            category=category,
            limit=limit,
            kinds=kinds,
            as_of=as_of,
        )
