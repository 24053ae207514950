"""Attributes of processes: facts about each part of a system, with their provenance.

`process` is the part that is described; `set_by` is the process that set the attribute.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from mnemic.db.database import TenantDatabase
from mnemic.db.json_value import as_jsonb
from mnemic.types.checks import check_choice, check_evidence, check_share
from mnemic.types.memory import PROVENANCES, Provenance
from mnemic.types.page import check_limit
from mnemic.types.scope import Scope, check_name
from mnemic.types.tiers import ProcessAttribute


async def set_attribute(
    database: TenantDatabase,
    scope: Scope,
    attribute: str,
    value: Any,
    *,
    process: str | None,
    provenance: Provenance,
    evidence: Iterable[str | UUID] | str | UUID,
    confidence: float,
) -> ProcessAttribute:
    """Set an attribute, replacing its value."""
    parameters = {
        "tenant_id": database.tenant.id,
        "owner": scope.require_owner(),
        "process": _described(scope, process),
        "attribute": check_name("attribute", attribute),
        "value": as_jsonb("value", value),
        "provenance": check_choice("provenance", provenance, PROVENANCES),
        "evidence": check_evidence(evidence),
        "confidence": check_share("confidence", confidence),
        "set_by": scope.process,
    }
    async with database.transaction() as transaction:
        return ProcessAttribute(**await transaction.one("process_attributes.set", parameters))


async def get_attribute(
    database: TenantDatabase, scope: Scope, attribute: str, *, process: str | None
) -> ProcessAttribute | None:
    """An attribute, or None."""
    parameters = {
        "owner": scope.require_owner(),
        "process": _described(scope, process),
        "attribute": check_name("attribute", attribute),
    }
    async with database.transaction() as transaction:
        row = await transaction.first("process_attributes.get", parameters)
    return ProcessAttribute(**row) if row is not None else None


async def list_attributes(
    database: TenantDatabase, scope: Scope, *, process: str | None, after: str | None, limit: int
) -> list[ProcessAttribute]:
    """The attributes of a process by name, starting after `after`."""
    parameters = {
        "owner": scope.require_owner(),
        "process": _described(scope, process),
        "after": check_name("after", after) if after is not None else "",
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        rows = await transaction.rows("process_attributes.list", parameters)
    return [ProcessAttribute(**row) for row in rows]


def _described(scope: Scope, process: str | None) -> str:
    return scope.process if process is None else check_name("process", process)
