"""Grants: who may recall whose memories. The table is in `sql/migrations/0012_access.sql`."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from mnemic.types.memory import Category


@dataclass(frozen=True, slots=True)
class ReadableGrant:
    """The part of an active grant that recall needs: whose memories it shares, and which of them.

    A part of the scope that is None does not restrict. A memory needs one of `categories`, and at
    least one of `tags`.
    """

    grant_id: UUID
    owner: str
    channel: str | None
    categories: tuple[Category, ...] | None
    tags: tuple[str, ...] | None
    conversation: str | None


@dataclass(frozen=True, slots=True)
class Grant(ReadableGrant):
    """A grant of `owner`, which lets `granted_to` recall. It ends at `expires_at`, or when it is revoked."""

    granted_to: str
    expires_at: datetime | None
    process: str
    reason: str | None
    created_at: datetime
    revoked_at: datetime | None
    revoking_reason: str | None
