"""Delete entities into the archive, and restore them.

The archive keeps a deleted entity in one row with everything that belonged to it: names, facts with their
history, relations, links to memories. Restoring recreates the entity under its id, with the relations and
links whose other end still exists. Memories that were stored in the meantime and mention it are linked as
well.
"""

from collections.abc import Awaitable, Callable
from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.pagination import newest_first
from mnemic.errors import ConflictError, NotFoundError
from mnemic.knowledge.entities import read_entity
from mnemic.knowledge.mentions import link_new_names, lock_mentions
from mnemic.knowledge.references import Reference, check_reference, not_found, resolve
from mnemic.types.entity import ArchivedEntity, Entity, EntityReference
from mnemic.types.scope import Scope

RESTORED_PARTS = ("facts", "relations", "mentions")


async def delete_entity(
    database: TenantDatabase,
    scope: Scope,
    reference: Reference,
    *,
    and_then: Callable[[Transaction], Awaitable[None]],
) -> ArchivedEntity:
    """Move an entity with all that belongs to it into the archive; `and_then` runs in the transaction."""
    owner = scope.require_owner()

    async def write(transaction: Transaction) -> ArchivedEntity:
        entity_id = await resolve(transaction, owner, reference)
        parameters = {"owner": owner, "entity_id": entity_id, "process": scope.process}
        if await transaction.first("archived_entities.lock", parameters) is None:
            raise not_found(reference)
        row = await transaction.one("archived_entities.archive", parameters)
        await transaction.execute("archived_entities.delete_entity", parameters)
        await and_then(transaction)
        return ArchivedEntity(**row)

    return await database.run(write)


async def restore_entity(
    database: TenantDatabase, scope: Scope, entity: EntityReference, name: str | None = None
) -> Entity:
    """Restore an entity; ConflictError if the owner has another one of that name."""
    owner, reference = scope.require_owner(), check_reference("entity", entity, name)

    async def write(transaction: Transaction) -> Entity:
        # Restore one at a time: two related entities restored at once would miss their relation.
        await lock_mentions(transaction, owner)
        wanted = {
            "owner": owner,
            "entity_id": reference.entity_id,
            "category": reference.category,
            "name": reference.name,
        }
        archived = await transaction.first("archived_entities.find", wanted)
        if archived is None:
            raise NotFoundError(f"The archive of this owner has no entity {reference}.")
        return await _restore(transaction, {**wanted, **archived})

    return await database.run(write)


async def list_archived(
    database: TenantDatabase, scope: Scope, *, before: UUID | str | None, limit: int
) -> list[ArchivedEntity]:
    """Deleted entities, most recently deleted first."""
    parameters = {"owner": scope.require_owner()}
    rows = await newest_first(database, "archived_entities", parameters, before=before, limit=limit)
    return [ArchivedEntity(**row) for row in rows]


async def _restore(transaction: Transaction, archived: dict[str, object]) -> Entity:
    owner, entity_id = str(archived["owner"]), archived["entity_id"]
    assert isinstance(entity_id, UUID)
    if not await transaction.execute("archived_entities.restore_entity", archived):
        raise ConflictError(
            f"There is an entity {archived['name']!r} of the category {archived['category']!r} again. "
            "Delete it first, or leave the old one in the archive."
        )
    names = await transaction.rows("archived_entities.restore_names", archived)
    for part in RESTORED_PARTS:
        await transaction.execute(f"archived_entities.restore_{part}", archived)
    await transaction.execute("archived_entities.hand_over_relations", archived)
    await transaction.execute("archived_entities.remove", archived)
    await link_new_names(transaction, owner, [row["name"] for row in names])
    return await read_entity(transaction, owner, entity_id)
