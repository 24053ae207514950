"""Lists of an owner's entities: by age, salience, mentions or name, by the beginning of a name, with counts.

Two orders follow an index: age, and name without a prefix. For the others the matching entities are compared,
at most `ENTITIES_RANKED_MAX` of them: those of the highest stored salience, which the current one never
exceeds; with a prefix, the first ones by name.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.knowledge.references import check_category
from mnemic.types.checks import check_choice, check_flag, check_id
from mnemic.types.entity import ENTITY_ORDERS, Entity, EntityCounts, EntityTotals
from mnemic.types.page import check_limit
from mnemic.types.scope import Scope, check_name

# Entities that are compared for an order without an index; each takes some 10 µs.
ENTITIES_RANKED_MAX = 2_000
# Entities that are counted.
ENTITIES_COUNTED_MAX = 10_000
# Mentions, facts or relations of one entity that are counted.
COUNTED_MAX = 10_000


@dataclass(frozen=True)
class EntityFilter:
    """Which entities to list; None matches all. `prefix` is the beginning of a name or alias."""

    prefix: str | None = None
    category: str | None = None

    def parameters(self, owner: str) -> dict[str, Any]:
        """The checked filter as parameters of a query."""
        return {
            "owner": owner,
            "prefix": check_name("prefix", self.prefix) if self.prefix is not None else None,
            "category": check_category(self.category) if self.category is not None else None,
            "ranked_max": ENTITIES_RANKED_MAX,
        }


async def list_entities(
    database: TenantDatabase,
    scope: Scope,
    filter: EntityFilter,
    *,
    order: str,
    with_counts: bool,
    before: UUID | str | None,
    limit: int,
) -> list[Entity]:
    """One page of entities in an order; `before` is the last entity of the previous page."""
    parameters = {
        **filter.parameters(scope.require_owner()),
        "order": check_choice("order", order, ENTITY_ORDERS),
        "before": check_id("before", before) if before is not None else None,
        "limit": check_limit(limit),
        "counted_max": COUNTED_MAX,
    }
    counted = check_flag("with_counts", with_counts)
    async with database.transaction() as transaction:
        entities = [Entity.from_row(row) for row in await _page(transaction, parameters)]
        return await add_counts(transaction, entities) if counted else entities


async def count_entities(database: TenantDatabase, scope: Scope, filter: EntityFilter) -> EntityTotals:
    """How many entities match, in all and by category."""
    parameters = {**filter.parameters(scope.require_owner()), "ranked_max": ENTITIES_COUNTED_MAX}
    async with database.transaction() as transaction:
        rows = await transaction.rows("entities.totals", parameters)
    counts = {row["category"]: row["entity_count"] for row in rows}
    entity_count = sum(counts.values())
    return EntityTotals(entity_count, counts, is_complete=entity_count < ENTITIES_COUNTED_MAX)


async def add_counts(transaction: Transaction, entities: Sequence[Entity]) -> list[Entity]:
    """The entities with the number of their mentions, facts and relations."""
    wanted = {"entity_ids": [entity.entity_id for entity in entities], "counted_max": COUNTED_MAX}
    rows = await transaction.rows("entities.counts", wanted) if entities else []
    counts = {row.pop("entity_id"): EntityCounts(**row) for row in rows}
    return [replace(entity, counts=counts[entity.entity_id]) for entity in entities]


async def _page(transaction: Transaction, parameters: dict[str, Any]) -> list[Row]:
    if parameters["prefix"] is not None or parameters["order"] in ("salience", "mentions"):
        return await transaction.rows("entities.list_ranked", parameters)
    if parameters["order"] == "newest":
        return await transaction.rows("entities.list", parameters)
    last: Row | None = {"after_name": None}
    if parameters["before"] is not None:
        last = await transaction.first("entities.name_of", parameters)
    return await transaction.rows("entities.list_by_name", {**parameters, **last}) if last else []
