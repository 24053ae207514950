"""Candidates by entity: memories that mention an entity that the query names, or one related to it."""

from collections.abc import Mapping

from mnemic.db.database import TenantDatabase
from mnemic.db.id_arrays import Key
from mnemic.knowledge.entity_lookup import entities_named
from mnemic.recall.candidates.limits import CANDIDATES_MIN


async def search_entities(database: TenantDatabase, owner: str, named: str) -> Mapping[Key, int]:
    """The newest memories that mention the entities of a text, each with how many relations it is away
    from the query."""
    async with database.transaction() as transaction:
        entity_ids = await entities_named(transaction, owner, named)
        if not entity_ids:
            return {}
        parameters = {"owner": owner, "entity_ids": list(entity_ids), "limit": CANDIDATES_MIN}
        rows = await transaction.rows("recall.mentioning", parameters)
    return {row["memory_id"].bytes: row["hops"] for row in rows}
