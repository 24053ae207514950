"""Errors of the systems that use this memory."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from mnemic.db.database import TenantDatabase
from mnemic.db.json_value import as_jsonb_object
from mnemic.tiers.events import EventKind, EventWindow, Time
from mnemic.types.checks import check_choice, check_text
from mnemic.types.scope import Scope, check_name
from mnemic.types.tiers import SEVERITIES, ErrorEvent, Severity

MESSAGE_MAX_CHARACTERS = 8192

_ERRORS = EventKind("error_events", ErrorEvent)


async def record_error(
    database: TenantDatabase,
    scope: Scope,
    *,
    kind: str,
    message: str,
    detail: Mapping[str, Any],
    severity: Severity,
    at: Time | None,
) -> ErrorEvent:
    """Add an event."""
    fields = {
        "kind": check_name("kind", kind),
        "message": check_text("message", message, max_characters=MESSAGE_MAX_CHARACTERS),
        "detail": as_jsonb_object("detail", detail),
        "severity": check_choice("severity", severity, SEVERITIES),
    }
    return await _ERRORS.append(database, scope, fields, at=at)


async def list_errors(
    database: TenantDatabase,
    scope: Scope,
    window: EventWindow,
    *,
    kind: str | None,
    severity: Severity | None,
    before: UUID | str | None,
    limit: int,
) -> list[ErrorEvent]:
    """Events in a window, newest first."""
    filters = {
        "kind": check_name("kind", kind) if kind is not None else None,
        "severity": check_choice("severity", severity, SEVERITIES) if severity is not None else None,
    }
    return await _ERRORS.page(database, scope, window, before=before, limit=limit, filters=filters)
