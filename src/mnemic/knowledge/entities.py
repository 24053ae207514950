"""Entities: people, places and things that an owner knows, one row each.

An upsert first creates or locks the row of the entity, so it waits for other writers of the same entity and
sees what they have written. Facts are merged attribute by attribute: a new value retires the old one, a
known value stays. Names are merged, too. Existing memories that mention a new name are linked to the
entity.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.json_value import as_jsonb_object
from mnemic.db.pagination import newest_first
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.knowledge.mentions import link_entities, link_new_names
from mnemic.knowledge.past_mentions import mentioning_as_of
from mnemic.knowledge.references import (
    Reference,
    check_category,
    check_origin,
    check_reference,
    lock_evidence,
    not_found,
    resolve,
)
from mnemic.text_analysis.name_matching import first_word
from mnemic.types.checks import check_flag, check_id, check_share, check_time
from mnemic.types.entity import Entity, EntityFact, EntityReference
from mnemic.types.memory import MemoryRecord
from mnemic.types.page import check_limit
from mnemic.types.scope import Scope, check_name

FACTS_MAX = 256
ALIASES_MAX = 64


@dataclass(frozen=True)
class EntityInput:
    """The arguments of an upsert."""

    category: str
    name: str
    facts: Mapping[str, Any]
    aliases: Iterable[str]
    salience: float | None
    metadata: Mapping[str, Any]
    confidence: float
    provenance: str
    evidence: UUID | str | None


async def upsert_entity(database: TenantDatabase, scope: Scope, given: EntityInput) -> Entity:
    """Create the entity or add to it; returns its new state."""
    owner = scope.require_owner()
    parameters = {
        "tenant_id": database.tenant.id,
        "owner": owner,
        "process": scope.process,
        "category": check_category(given.category),
        "name": check_name("name", given.name).strip(),
        "salience": check_share("salience", given.salience) if given.salience is not None else None,
        "metadata": as_jsonb_object("metadata", given.metadata),
        "facts": as_jsonb_object("facts", _check_facts(given.facts)),
        **check_origin(given.confidence, given.provenance, given.evidence),
    }
    names = [parameters["name"], *_check_aliases(given.aliases)]

    async def write(transaction: Transaction) -> Entity:
        await lock_evidence(transaction, owner, parameters["memory_id"])
        entity = await transaction.one("entities.put", parameters)
        about = {**parameters, "entity_id": entity["entity_id"], "moment": entity["updated_at"]}
        await _add_facts(transaction, about, has_facts=bool(given.facts))
        await _add_names(transaction, about, names)
        if about["memory_id"] is not None:
            await link_entities(transaction, owner, about["memory_id"], [about["entity_id"]])
        return await read_entity(transaction, owner, about["entity_id"])

    return await database.run(write)


async def ensure_entity(transaction: Transaction, scope: Scope, category: str, name: str) -> UUID:
    """The id of the entity with this name or alias, created if the owner has none."""
    owner = scope.require_owner()
    wanted = {
        "owner": owner,
        "category": check_category(category),
        "name": check_name("name", name),
        "limit": 1,
    }
    found = await transaction.first("entities.find", wanted)
    if found is not None:
        entity_id: UUID = found["entity_id"]
        return entity_id
    parameters = {
        **wanted,
        "tenant_id": transaction.tenant.id,
        "process": scope.process,
        "salience": None,
        "metadata": as_jsonb_object("metadata", {}),
    }
    entity = await transaction.one("entities.put", parameters)
    about = {**parameters, "entity_id": entity["entity_id"]}
    await _add_names(transaction, about, [name])
    created: UUID = entity["entity_id"]
    return created


async def get_entity(
    database: TenantDatabase,
    scope: Scope,
    entity: EntityReference,
    name: str | None = None,
    *,
    as_of: datetime | str | None = None,
) -> Entity:
    """One entity, now or as it was known at a moment; NotFoundError if the owner has no such entity."""
    owner, reference = scope.require_owner(), check_reference("entity", entity, name)
    moment = check_time("as_of", as_of) if as_of is not None else None
    async with database.transaction() as transaction:
        entity_id = await resolve(transaction, owner, reference)
        if moment is None:
            return await read_entity(transaction, owner, entity_id)
        wanted = {"owner": owner, "entity_id": entity_id, "as_of": moment}
        row = await transaction.first("entities.read_as_of", wanted)
    if row is None:
        raise NotFoundError(f"At {moment:%Y-%m-%d %H:%M} UTC this owner had no entity {reference}.")
    return Entity.from_row(row)


async def find_entities(
    database: TenantDatabase, scope: Scope, name: str, *, category: str | None, limit: int
) -> list[Entity]:
    """Every entity with this name or alias."""
    owner = scope.require_owner()
    parameters = {
        "owner": owner,
        "name": check_name("name", name),
        "category": check_category(category) if category is not None else None,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        found = await transaction.rows("entities.find", parameters)
        return await read_entities(transaction, owner, [row["entity_id"] for row in found])


async def read_fact_history(
    database: TenantDatabase,
    scope: Scope,
    entity: EntityReference,
    *,
    attribute: str | None,
    before: UUID | str | None,
    limit: int,
) -> list[EntityFact]:
    """The current and retired facts about an entity, newest first."""
    found = await get_entity(database, scope, entity)
    parameters = {
        "owner": found.owner,
        "entity_id": found.entity_id,
        "attribute": check_name("attribute", attribute) if attribute is not None else None,
    }
    rows = await newest_first(database, "entity_facts", parameters, before=before, limit=limit)
    return [EntityFact(**row) for row in rows]


async def list_mentions(
    database: TenantDatabase, scope: Scope, entity: EntityReference, *, before: UUID | str | None, limit: int
) -> list[UUID]:
    """The ids of the memories that mention an entity, newest first."""
    found = await get_entity(database, scope, entity)
    parameters = {
        "owner": found.owner,
        "entity_id": found.entity_id,
        "before": check_id("before", before) if before is not None else None,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [row["memory_id"] for row in await transaction.rows("mentions.memories_of", parameters)]


async def list_mentioning(
    database: TenantDatabase,
    scope: Scope,
    entity: EntityReference,
    *,
    as_of: datetime | str | None,
    include_forgotten: bool,
    before: UUID | str | None,
    limit: int,
) -> list[MemoryRecord]:
    """The memories that mention an entity, newest first; or those that did at a moment, as they were then."""
    found = await get_entity(database, scope, entity)
    parameters = {
        "owner": found.owner,
        "entity_id": found.entity_id,
        "include_forgotten": check_flag("include_forgotten", include_forgotten),
        "before": check_id("before", before) if before is not None else None,
        "limit": check_limit(limit),
    }
    moment = None if as_of is None else check_time("as_of", as_of)
    async with database.transaction() as transaction:
        if moment is not None:
            return await mentioning_as_of(transaction, {**parameters, "as_of": moment})
        rows = await transaction.rows("mentions.records_of", parameters)
    return [MemoryRecord.from_row(row) for row in rows]


async def list_mentioned(
    database: TenantDatabase, scope: Scope, memory_id: UUID | str, *, limit: int
) -> list[Entity]:
    """The entities that a memory mentions, the most salient first."""
    owner = scope.require_owner()
    parameters = {
        "owner": owner,
        "memory_id": check_id("memory_id", memory_id),
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        found = await transaction.rows("mentions.entities_in", parameters)
        return await read_entities(transaction, owner, [row["entity_id"] for row in found])


async def read_entity(transaction: Transaction, owner: str, entity_id: UUID) -> Entity:
    """One entity by its id; NotFoundError if the owner has no such entity."""
    found = await read_entities(transaction, owner, [entity_id])
    if not found:
        raise not_found(Reference(entity_id=entity_id))
    return found[0]


async def read_entities(transaction: Transaction, owner: str, entity_ids: list[UUID]) -> list[Entity]:
    """Entities by their ids, in that order; ids of other owners are left out."""
    rows = await transaction.rows("entities.read", {"owner": owner, "entity_ids": entity_ids})
    return [Entity.from_row(row) for row in rows]


async def _add_facts(transaction: Transaction, about: dict[str, Any], *, has_facts: bool) -> None:
    if has_facts:
        await transaction.execute("entities.retire_facts", about)
        await transaction.execute("entities.add_facts", about)


async def _add_names(transaction: Transaction, about: dict[str, Any], names: list[str]) -> None:
    given = {**about, "names": names, "first_words": [first_word(name) for name in names]}
    new = [row["name"] for row in await transaction.rows("entities.add_names", given)]
    if new:
        await link_new_names(transaction, about["owner"], new)


def _check_facts(facts: object) -> Mapping[str, Any]:
    if not isinstance(facts, Mapping):
        raise InvalidInputError(
            f"facts must be a mapping of attributes to values, not {type(facts).__name__}."
        )
    if len(facts) > FACTS_MAX:
        raise InvalidInputError(f"facts: at most {FACTS_MAX} are allowed in one call, not {len(facts)}.")
    for attribute in facts:
        check_name("an attribute of facts", attribute)
    return facts


def _check_aliases(aliases: object) -> list[str]:
    if isinstance(aliases, str | bytes | Mapping) or not isinstance(aliases, Iterable):
        raise InvalidInputError("aliases must be a list of names.")
    given = [check_name("an alias", alias).strip() for alias in islice(aliases, ALIASES_MAX + 1)]
    if len(given) > ALIASES_MAX:
        raise InvalidInputError(f"aliases: at most {ALIASES_MAX} are allowed in one call.")
    return given
