"""State documents: the current state of a part of a system, one JSON document per key.

Optimistic locking prevents lost updates: a writer that passes the version that it has read gets a
`ConflictError` if the document has changed since.
"""

from typing import Any

from mnemic.db.database import TenantDatabase
from mnemic.db.json_value import as_jsonb
from mnemic.errors import ConflictError, InvalidInputError
from mnemic.types.page import check_limit
from mnemic.types.scope import Scope, check_name
from mnemic.types.tiers import StateDocument

# The largest number that the column holds.
VERSION_MAX = 2**31 - 1


async def set_document(
    database: TenantDatabase, scope: Scope, key: str, document: Any, *, expected_version: int | None
) -> StateDocument:
    """Write the document, if it still has the version that the caller expects."""
    parameters = {
        "tenant_id": database.tenant.id,
        "owner": scope.require_owner(),
        "key": check_name("key", key),
        "document": as_jsonb("document", document),
        "process": scope.process,
        "expected_version": _check_version(expected_version),
    }
    async with database.transaction() as transaction:
        row = await transaction.first("state_documents.set", parameters)
    if row is None:
        raise ConflictError(
            f"The document {key!r} is not at version {expected_version}. Read it again and retry."
        )
    return StateDocument(**row)


async def get_document(database: TenantDatabase, scope: Scope, key: str) -> StateDocument | None:
    """The document, or None."""
    parameters = {"owner": scope.require_owner(), "key": check_name("key", key)}
    async with database.transaction() as transaction:
        row = await transaction.first("state_documents.get", parameters)
    return StateDocument(**row) if row is not None else None


async def list_documents(
    database: TenantDatabase, scope: Scope, *, prefix: str, after: str, limit: int
) -> list[StateDocument]:
    """Documents by key, starting after `after`."""
    parameters = {
        "owner": scope.require_owner(),
        "prefix": check_name("prefix", prefix) if prefix != "" else "",
        "after": check_name("after", after) if after != "" else "",
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [StateDocument(**row) for row in await transaction.rows("state_documents.list", parameters)]


async def delete_document(
    database: TenantDatabase, scope: Scope, key: str, *, expected_version: int | None
) -> bool:
    """Delete the document; returns whether there was one to delete."""
    parameters = {
        "owner": scope.require_owner(),
        "key": check_name("key", key),
        "expected_version": _check_version(expected_version),
    }
    async with database.transaction() as transaction:
        return await transaction.execute("state_documents.delete", parameters) > 0


def _check_version(expected: object) -> int | None:
    if expected is None:
        return None
    if isinstance(expected, int) and not isinstance(expected, bool) and 0 <= expected <= VERSION_MAX:
        return expected
    raise InvalidInputError("expected_version must be 0 (must not exist yet) or the version that was read.")
