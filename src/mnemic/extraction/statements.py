"""Read statements, and declare how contradictions between them are decided."""

from uuid import UUID

from mnemic.db.database import TenantDatabase
from mnemic.extraction.attributes import attribute_name
from mnemic.types.checks import check_choice, check_flag, check_id
from mnemic.types.memory import STATUSES
from mnemic.types.page import check_limit
from mnemic.types.scope import Scope, check_name
from mnemic.types.statement import (
    CONTRADICTION_POLICIES,
    AttributeKind,
    ContradictionRule,
    RejectedStatement,
    Statement,
)

WHOLE_TENANT = ""
"""The channel of the policy that holds for channels without one."""


async def list_statements(
    database: TenantDatabase,
    scope: Scope,
    *,
    subject: str | None,
    attribute: str | None,
    status: str | None,
    before: UUID | str | None,
    limit: int,
) -> list[Statement]:
    """Statements of the owner, newest first; each filter may be None."""
    parameters = {
        "owner": scope.require_owner(),
        "subject": check_name("subject", subject) if subject is not None else None,
        "attribute": attribute_name(check_name("attribute", attribute)) if attribute is not None else None,
        "status": check_choice("status", status, STATUSES) if status is not None else None,
        "before": check_id("before", before) if before is not None else None,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [Statement(**row) for row in await transaction.rows("statements.list", parameters)]


async def list_rejected(
    database: TenantDatabase, scope: Scope, *, before: UUID | str | None, limit: int
) -> list[RejectedStatement]:
    """Proposals about the owner's memories that were not accepted, newest first."""
    parameters = {
        "owner": scope.require_owner(),
        "before": check_id("before", before) if before is not None else None,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        rows = await transaction.rows("statements.list_rejected", parameters)
    return [RejectedStatement(**row) for row in rows]


async def list_attributes(database: TenantDatabase) -> list[AttributeKind]:
    """The attributes that the tenant has declared."""
    async with database.transaction() as transaction:
        return [AttributeKind(**row) for row in await transaction.rows("statements.attribute_kinds")]


async def set_attribute(database: TenantDatabase, attribute: str, *, is_single_valued: bool) -> AttributeKind:
    """Declare an attribute; statements that are stored keep their kind."""
    parameters = {
        "attribute": attribute_name(check_name("attribute", attribute)),
        "is_single_valued": check_flag("is_single_valued", is_single_valued),
    }
    async with database.transaction() as transaction:
        await transaction.execute("statements.set_attribute_kind", parameters)
    return AttributeKind(str(parameters["attribute"]), is_single_valued)


async def remove_attribute(database: TenantDatabase, attribute: str) -> bool:
    """Remove a declaration; returns whether there was one."""
    name = attribute_name(check_name("attribute", attribute))
    async with database.transaction() as transaction:
        return await transaction.execute("statements.remove_attribute_kind", {"attribute": name}) > 0


async def list_policies(database: TenantDatabase) -> list[ContradictionRule]:
    """The policies for contradictions that were set: that of the tenant first, then those of channels."""
    async with database.transaction() as transaction:
        rows = await transaction.rows("statements.list_policies")
    return [ContradictionRule(row["channel"] or None, row["policy"]) for row in rows]


async def set_policy(database: TenantDatabase, policy: str, channel: str | None) -> ContradictionRule:
    """Set the policy of a channel, or of the tenant."""
    checked = check_choice("policy", policy, CONTRADICTION_POLICIES)
    parameters = {"policy": checked, "channel": _channel(channel)}
    async with database.transaction() as transaction:
        row = await transaction.one("statements.set_policy", parameters)
    return ContradictionRule(row["channel"] or None, row["policy"])


async def remove_policy(database: TenantDatabase, channel: str | None) -> bool:
    """Remove the policy of a channel, or of the tenant; returns whether there was one."""
    async with database.transaction() as transaction:
        return await transaction.execute("statements.remove_policy", {"channel": _channel(channel)}) > 0


def _channel(channel: str | None) -> str:
    return check_name("channel", channel) if channel is not None else WHOLE_TENANT
