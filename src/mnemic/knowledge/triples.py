"""Triples: statements of subject, predicate and object, with their origin.

Subject and object are texts, not entities: an extraction need not decide which entity is meant.
"""

from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.knowledge.references import check_origin, lock_evidence
from mnemic.types.checks import check_id, check_text
from mnemic.types.entity import OBJECT_MAX_CHARACTERS, Triple
from mnemic.types.page import check_limit
from mnemic.types.scope import Scope, check_name


async def add_triple(
    database: TenantDatabase,
    scope: Scope,
    subject: str,
    predicate: str,
    statement_object: str,
    *,
    confidence: float,
    provenance: str,
    evidence: object,
) -> Triple:
    """Add a statement; adding it again updates its confidence and provenance."""
    parameters = {
        "tenant_id": database.tenant.id,
        "owner": scope.require_owner(),
        "process": scope.process,
        "subject": check_name("subject", subject),
        "predicate": check_name("predicate", predicate),
        "object": _check_object(statement_object),
        **check_origin(confidence, provenance, evidence),
    }

    async def write(transaction: Transaction) -> Triple:
        await lock_evidence(transaction, parameters["owner"], parameters["memory_id"])
        return Triple(**await transaction.one("triples.add", parameters))

    return await database.run(write)


async def list_triples(
    database: TenantDatabase,
    scope: Scope,
    *,
    subject: str | None,
    predicate: str | None,
    statement_object: str | None,
    before: UUID | str | None,
    limit: int,
) -> list[Triple]:
    """Statements, newest first; each of subject, predicate and object filters if it is given."""
    parameters = {
        "owner": scope.require_owner(),
        "subject": _check_name("subject", subject),
        "predicate": _check_name("predicate", predicate),
        "object": _check_object(statement_object) if statement_object is not None else None,
        "before": check_id("before", before) if before is not None else None,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [Triple(**row) for row in await transaction.rows("triples.list", parameters)]


async def remove_triple(database: TenantDatabase, scope: Scope, triple: Triple | UUID | str) -> bool:
    """Delete a statement; returns whether it existed."""
    triple_id = triple.triple_id if isinstance(triple, Triple) else check_id("triple", triple)
    parameters = {"owner": scope.require_owner(), "triple_id": triple_id}
    async with database.transaction() as transaction:
        return await transaction.execute("triples.remove", parameters) > 0


def _check_name(field: str, value: object) -> str | None:
    return check_name(field, value) if value is not None else None


def _check_object(value: object) -> str:
    return check_text("object", value, max_characters=OBJECT_MAX_CHARACTERS)
