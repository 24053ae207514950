"""The journal: entries of an agent about each of its cycles."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from mnemic.db.database import TenantDatabase
from mnemic.db.json_value import as_jsonb, as_jsonb_object
from mnemic.errors import InvalidInputError
from mnemic.tiers.events import EventKind, EventWindow, Time
from mnemic.types.checks import check_text
from mnemic.types.scope import Scope
from mnemic.types.tiers import JournalEvent

_JOURNAL = EventKind("journal_events", JournalEvent)


async def append_entry(
    database: TenantDatabase,
    scope: Scope,
    *,
    evaluated: Any,
    acted: Any,
    forward: Any,
    extra: Mapping[str, Any],
    at: Time | None,
) -> JournalEvent:
    """Add an entry; at least one of `evaluated`, `acted` and `forward` is required."""
    if evaluated is None and acted is None and forward is None:
        raise InvalidInputError("A journal entry needs at least one of evaluated, acted and forward.")
    fields = {
        "evaluated": _part("evaluated", evaluated),
        "acted": _part("acted", acted),
        "forward": _part("forward", forward),
        "extra": as_jsonb_object("extra", extra),
    }
    return await _JOURNAL.append(database, scope, fields, at=at)


async def list_entries(
    database: TenantDatabase, scope: Scope, window: EventWindow, *, before: UUID | str | None, limit: int
) -> list[JournalEvent]:
    """Entries in a window, newest first."""
    return await _JOURNAL.page(database, scope, window, before=before, limit=limit)


def _part(field: str, value: Any) -> Jsonb | None:
    """Any JSON except an empty string; None is stored as SQL NULL, not as JSON null."""
    if value is None:
        return None
    return as_jsonb(field, check_text(field, value) if isinstance(value, str) else value)
