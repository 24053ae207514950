"""Entities, their facts and relations; the tables are in `sql/migrations/0005_knowledge.sql`."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from mnemic.types.memory import Provenance

CATEGORY_MAX_CHARACTERS = 64
OBJECT_MAX_CHARACTERS = 2048

EntityOrder = Literal["newest", "salience", "mentions", "name"]
ENTITY_ORDERS: tuple[EntityOrder, ...] = ("newest", "salience", "mentions", "name")


@dataclass(frozen=True, slots=True)
class EntityCounts:
    """How much is known about an entity; counting stops at 10,000."""

    mention_count: int
    fact_count: int
    relation_count: int


@dataclass(frozen=True, slots=True)
class Entity:
    """A person or thing that an owner knows, identified by category and name.

    `facts` are the values that hold now, by attribute. `version` counts the upserts. `counts` is None unless
    the call was asked for it.
    """

    entity_id: UUID
    owner: str
    category: str
    name: str
    aliases: tuple[str, ...]
    facts: dict[str, Any]
    salience: float
    metadata: dict[str, Any]
    process: str
    version: int
    created_at: datetime
    updated_at: datetime
    counts: EntityCounts | None = None

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> "Entity":
        """The entity in a row of the view `state.entity_records`."""
        fields = {**row, "aliases": tuple(row["aliases"])}
        fields.pop("tenant_id", None)
        return cls(**fields)


# How calls name an entity: the entity itself, its id, or its category and name.
EntityReference = Entity | UUID | str | tuple[str, str]


@dataclass(frozen=True, slots=True)
class EntityTotals:
    """How many entities there are, and how many of each category, the largest first.

    `is_complete` is false if there are more than were counted.
    """

    entity_count: int
    categories: dict[str, int]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class EntityFact:
    """One value of one attribute, valid until `retired_at`; None: it is still valid.

    `memory_id` is the memory from which it was extracted.
    """

    fact_id: UUID
    entity_id: UUID
    attribute: str
    value: Any
    confidence: float
    provenance: Provenance
    memory_id: UUID | None
    process: str
    recorded_at: datetime
    retired_at: datetime | None


@dataclass(frozen=True, slots=True)
class EntityRelation:
    """One entity's relation to another, read from → kind → to."""

    from_id: UUID
    to_id: UUID
    kind: str
    confidence: float
    provenance: Provenance
    memory_id: UUID | None
    process: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class EntityNode:
    """An entity in a graph; `depth` is how many relations lie between it and the start, 0 without a start."""

    entity_id: UUID
    category: str
    name: str
    salience: float
    depth: int


@dataclass(frozen=True, slots=True)
class EntityGraph:
    """Entities, and all relations between them: those reachable from a start, or the most salient ones.

    `is_complete` is false if a limit other than the depth left something out.
    """

    nodes: tuple[EntityNode, ...]
    relations: tuple[EntityRelation, ...]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class ArchivedEntity:
    """A deleted entity, which can be restored."""

    entity_id: UUID
    owner: str
    category: str
    name: str
    process: str
    archived_at: datetime


@dataclass(frozen=True, slots=True)
class Triple:
    """A statement: subject, predicate, object. `memory_id` is the memory from which it was extracted."""

    triple_id: UUID
    owner: str
    subject: str
    predicate: str
    object: str
    confidence: float
    provenance: Provenance
    memory_id: UUID | None
    process: str
    recorded_at: datetime
