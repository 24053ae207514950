"""Grants: who may recall whose memories. The table is in `sql/migrations/0012_access.sql`."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

from mnemic.types.memory import Category

GrantState = Literal["offered", "active", "expired", "dropped", "revoked"]
GRANT_STATES: tuple[GrantState, ...] = get_args(GrantState)
OPEN_STATES: tuple[GrantState, ...] = ("offered", "active")
"""A grant in one of the other states has ended."""

GrantPolicy = Literal["ask", "accept_all"]
GRANT_POLICIES: tuple[GrantPolicy, ...] = get_args(GrantPolicy)

EVERYONE = "everyone"
"""The group that all owners of a tenant are in. It always exists."""


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
    """A grant of `owner`, which lets `granted_to`, or the members of `granted_to_group`, recall.

    `state` is `offered` until the reader accepts it, then `active`, until it is `expired`, `dropped` by the
    reader or `revoked` by the giver. A grant to a group is active at once; each member can drop it for itself
    only, and sees its own `state` and `dropped_at`.
    """

    granted_to: str | None
    expires_at: datetime | None
    process: str
    reason: str | None
    created_at: datetime
    revoked_at: datetime | None
    revoking_reason: str | None
    granted_to_group: str | None
    accepted_at: datetime | None
    dropped_at: datetime | None
    state: GrantState


@dataclass(frozen=True, slots=True)
class Group:
    """A group of owners, which grants can be given to."""

    name: str
    created_at: datetime
    member_count: int
