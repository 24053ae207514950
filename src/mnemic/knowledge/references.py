"""References to entities in arguments, and the origin of facts: confidence, provenance, evidence."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mnemic.db.database import Transaction
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.types.checks import check_choice, check_id, check_share, check_text
from mnemic.types.entity import CATEGORY_MAX_CHARACTERS, Entity, EntityReference
from mnemic.types.memory import PROVENANCES
from mnemic.types.scope import check_name

# Enough to tell "one" from "several".
CANDIDATES_MAX = 2


@dataclass(frozen=True)
class Reference:
    """An entity by its id, or by category and name; the other fields are None."""

    entity_id: UUID | None = None
    category: str | None = None
    name: str | None = None

    def __str__(self) -> str:
        return f"{self.category} {self.name!r}" if self.entity_id is None else str(self.entity_id)


def check_reference(field: str, value: EntityReference, name: str | None = None) -> Reference:
    """Check an entity, its id, a pair of category and name, or (with `name`) its category."""
    if isinstance(value, Entity):
        return Reference(entity_id=value.entity_id)
    if name is not None:
        return Reference(category=check_category(value), name=check_name("name", name))
    if isinstance(value, tuple):
        if len(value) != 2:
            raise InvalidInputError(f"{field} must be a pair of category and name, not {len(value)} values.")
        return Reference(category=check_category(value[0]), name=check_name("name", value[1]))
    return Reference(entity_id=check_id(field, value))


def check_category(value: object) -> str:
    """Check a category, which is a short name."""
    return check_text("category", check_name("category", value), max_characters=CATEGORY_MAX_CHARACTERS)


async def resolve(transaction: Transaction, owner: str, reference: Reference) -> UUID:
    """The id of the referenced entity. A name is its own name or an alias that no other entity has."""
    if reference.entity_id is not None:
        return reference.entity_id
    parameters = {
        "owner": owner,
        "category": reference.category,
        "name": reference.name,
        "limit": CANDIDATES_MAX,
    }
    found = await transaction.rows("entities.find", parameters)
    if not found:
        raise not_found(reference)
    if len(found) > 1 and not found[0]["is_own_name"]:
        raise InvalidInputError(
            f"{reference.name!r} is an alias of several entities of the category {reference.category!r}. "
            "Use their own names or ids; entities.find() lists them."
        )
    entity_id: UUID = found[0]["entity_id"]
    return entity_id


def not_found(reference: Reference | UUID) -> NotFoundError:
    """The error for an unknown entity; it does not reveal whether another owner has it."""
    return NotFoundError(f"This owner has no entity {reference}.")


def check_origin(confidence: object, provenance: object, evidence: object) -> dict[str, Any]:
    """Check confidence, provenance and evidence; returns them as parameters of a query."""
    return {
        "confidence": check_share("confidence", confidence),
        "provenance": check_choice("provenance", provenance, PROVENANCES),
        "memory_id": check_id("evidence", evidence) if evidence is not None else None,
    }


async def lock_evidence(transaction: Transaction, owner: str, memory_id: UUID | None) -> None:
    """Lock the memory that is the evidence, if any; NotFoundError if the owner has no such memory."""
    if memory_id is None:
        return
    if await transaction.first("mentions.hold_memory", {"owner": owner, "memory_id": memory_id}) is None:
        raise NotFoundError(f"evidence: this owner has no memory {memory_id}.")
