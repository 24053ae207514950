"""Tenants as an administrator sees them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from mnemic.errors import InvalidInputError
from mnemic.types.scope import check_name

TENANT_NAME_MAX_CHARACTERS = 128


@dataclass(frozen=True, slots=True)
class TenantRecord:
    """One tenant of a database, and when it was created."""

    tenant_id: UUID
    name: str
    created_at: datetime


def check_tenant_name(value: object) -> str:
    """A name that a tenant can have."""
    name = check_name("name", value)
    if len(name) > TENANT_NAME_MAX_CHARACTERS:
        raise InvalidInputError(f"name must have at most {TENANT_NAME_MAX_CHARACTERS} characters.")
    return name
