"""API keys: who may call a Mnemic server, and as what; the table is in `sql/migrations/0012_access.sql`."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

Role = Literal["read", "write", "admin"]
"""What a key may do: each role includes the ones before it."""

ROLES: tuple[Role, ...] = get_args(Role)


def allows(held: Role, needed: Role) -> bool:
    """Whether a key of the role `held` may do what needs the role `needed`."""
    return ROLES.index(held) >= ROLES.index(needed)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is listed: everything but the key itself, of which only a hash is stored.

    A key with an `owner` works for that owner only; one without, for every owner of its tenant.
    `prefix` is the start of the key, by which people recognise it.
    """

    key_id: UUID
    name: str | None
    role: Role
    owner: str | None
    prefix: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    session_count: int = 0
    """Browsers that are signed in by this key; 0 where it was not counted."""


@dataclass(frozen=True, slots=True)
class NewApiKey(ApiKey):
    """A new key. `key` is shown only here: it cannot be recovered afterwards."""

    key: str = field(repr=False, kw_only=True)
