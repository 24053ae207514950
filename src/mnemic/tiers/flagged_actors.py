"""Flagged actors, which an owner should not trust, and the reasons.

An actor may be flagged more than once, each time with its own reason. It counts as flagged until
every flag is cleared; a cleared flag stays as history.
"""

from collections.abc import Iterable
from uuid import UUID

from mnemic.db.database import TenantDatabase
from mnemic.db.pagination import newest_first
from mnemic.tiers.events import Time
from mnemic.types.checks import check_choice, check_evidence, check_flag, check_text, check_time
from mnemic.types.scope import Scope, check_name
from mnemic.types.tiers import SEVERITIES, ActorFlag, Severity

REASON_MAX_CHARACTERS = 1024


async def flag_actor(
    database: TenantDatabase,
    scope: Scope,
    actor: str,
    *,
    reason: str,
    severity: Severity,
    evidence: Iterable[str | UUID] | str | UUID,
    at: Time | None,
) -> ActorFlag:
    """Flag an actor."""
    parameters = {
        "tenant_id": database.tenant.id,
        "owner": scope.require_owner(),
        "process": scope.process,
        "actor": check_name("actor", actor),
        "reason": _check_reason(reason),
        "severity": check_choice("severity", severity, SEVERITIES),
        "evidence": check_evidence(evidence),
        "at": check_time("at", at) if at is not None else None,
    }
    async with database.transaction() as transaction:
        return ActorFlag(**await transaction.one("flagged_actors.flag", parameters))


async def clear_actor(database: TenantDatabase, scope: Scope, actor: str, *, reason: str) -> int:
    """Clear all open flags of an actor; returns how many there were."""
    parameters = {
        "owner": scope.require_owner(),
        "actor": check_name("actor", actor),
        "reason": _check_reason(reason),
    }
    async with database.transaction() as transaction:
        return await transaction.execute("flagged_actors.clear", parameters)


async def is_flagged(database: TenantDatabase, scope: Scope, actor: str) -> bool:
    """Whether an actor has a flag that is not cleared."""
    parameters = {"owner": scope.require_owner(), "actor": check_name("actor", actor)}
    async with database.transaction() as transaction:
        return bool((await transaction.one("flagged_actors.is_flagged", parameters))["is_flagged"])


async def list_flags(
    database: TenantDatabase,
    scope: Scope,
    *,
    actor: str | None,
    include_cleared: bool,
    before: UUID | str | None,
    limit: int,
) -> list[ActorFlag]:
    """Flags, newest first."""
    parameters = {
        "owner": scope.require_owner(),
        "actor": check_name("actor", actor) if actor is not None else None,
        "include_cleared": check_flag("include_cleared", include_cleared),
    }
    rows = await newest_first(database, "flagged_actors", parameters, before=before, limit=limit)
    return [ActorFlag(**row) for row in rows]


def _check_reason(reason: object) -> str:
    return check_text("reason", reason, max_characters=REASON_MAX_CHARACTERS)
