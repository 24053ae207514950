"""The new values of a change in the change log: checked, and as JSON.

The table holds them as JSON. They are checked before they are stored and again when they are read, because an
imported changeset could hold anything.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.errors import InvalidInputError
from mnemic.types.checks import check_choice, check_evidence, check_flag, check_id, check_share, check_time
from mnemic.types.memory import CATEGORIES, PROVENANCES, SOURCES, STATUSES
from mnemic.types.scope import check_name
from mnemic.types.tags import check_tags

Check = Callable[[str, object], Any]


def check_fields(fields: Mapping[str, object]) -> dict[str, Any]:
    """The values as a memory has them; InvalidInputError if a field cannot be changed or a value is wrong."""
    for field in fields:
        if field not in _CHECKS:
            raise InvalidInputError(
                f"A change cannot set {field!a}: it may set {', '.join(_CHECKS)}. New words are a new memory."
            )
    return {field: _CHECKS[field](field, value) for field, value in fields.items()}


def as_json(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Checked values as JSON."""
    return {field: _as_json_value(value) for field, value in fields.items()}


def _as_json_value(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value


def _choice(allowed: tuple[str, ...]) -> Check:
    return lambda field, value: check_choice(field, value, allowed)


def _optional(check: Check) -> Check:
    return lambda field, value: None if value is None else check(field, value)


def _metadata(field: str, value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{field} must be a mapping, not {type(value).__name__}.")
    return dict(value)


# All versioned fields except the content: new words need a new vector, and a change must be undone exactly.
_CHECKS: dict[str, Check] = {
    "category": _choice(CATEGORIES),
    "tags": lambda _, value: check_tags(value),
    "metadata": _metadata,
    "channel": check_name,
    "source": _choice(SOURCES),
    "provenance": _choice(PROVENANCES),
    "evidence": lambda _, value: tuple(check_evidence(value)),
    "confidence": check_share,
    "anchored": check_flag,
    "status": _choice(STATUSES),
    "superseded_by": _optional(check_id),
    "merged_into": _optional(check_id),
    "at": _optional(check_time),
    "valid_from": _optional(check_time),
    "valid_to": _optional(check_time),
    "expires_at": _optional(check_time),
    "deleted_at": _optional(check_time),
}
