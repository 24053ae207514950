"""Sessions: a browser acts as an API key without holding it.

A session is a child of an API key, its parent. It has the role and the owner of the parent, which the
database reads from the parent's row, and it ends after `SESSION_S` at the latest, or when its parent expires
or is revoked, or when the visitor signs out. Its secret is `ms_` and 43 random characters; only the SHA-256
is stored. The prefix differs from that of API keys, so `/v1` and `/mcp` never accept it.

A link opens one session: its secret (`ml_…`) can be used once, within `LINK_S`. `mnemic ui` prints
one. Its parent is a new admin key that nobody holds, because its secret is discarded.

States of both: *open* → (expired, parent ended, signed out, used, pushed out by newer ones) → *ended*.
Opening and ending a session is audited, by the id of the session.
"""

import hmac
import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Literal
from uuid import UUID

from mnemic.db.database import Database, TenantDatabase, Transaction
from mnemic.db.tenancy import Tenant
from mnemic.errors import NotAuthenticatedError
from mnemic.govern import keys
from mnemic.govern.audit import audited
from mnemic.govern.keys import AuthenticatedKey
from mnemic.sql import query
from mnemic.types.identity import new_id
from mnemic.types.key import ApiKey
from mnemic.types.scope import GLOBAL_CHANNEL, Scope

Kind = Literal["session", "link"]

SECRET_BYTES = 32
SESSION_S = 12 * 3600.0
LINK_S = 5 * 60.0
"""The lifetimes; the table `queue.sessions` allows no longer ones."""
LIFETIMES_S: dict[Kind, float] = {"session": SESSION_S, "link": LINK_S}
PREFIXES: dict[Kind, str] = {"session": "ms_", "link": "ml_"}
PATTERN = re.compile(r"m[sl]_[A-Za-z0-9_-]{43}")
SESSIONS_PER_KEY_MAX = 20
"""Open sessions of one API key, and open links; opening one more ends the oldest."""
UI_KEY_NAME = "mnemic ui"
"""The name of the parent key of a link."""
PROCESS = "dashboard"


@dataclass(frozen=True)
class AuthenticatedSession(AuthenticatedKey):
    """An open session: its tenant, its parent key, and when it ends at the latest."""

    session_id: UUID
    session_expires_at: datetime

    @property
    def credential_id(self) -> UUID:
        return self.session_id


@dataclass(frozen=True)
class NewSession:
    """A session or link that was just opened; `secret` is known only here."""

    session_id: UUID
    expires_at: datetime
    secret: str = field(repr=False)


@dataclass(frozen=True)
class NewLink(NewSession):
    """A link that was just made, and the key that its session will belong to."""

    key_id: UUID


async def open_session(database: TenantDatabase, key: ApiKey, *, request_id: str | None = None) -> NewSession:
    """Open a session of a key that has just been looked up; NotAuthenticatedError if it has ended since."""
    session_id = new_id()
    async with (
        audited(database, _scope(key, request_id), action="open_session", target=str(session_id)) as act,
        database.transaction() as transaction,
    ):
        opened = await _open(transaction, key.key_id, "session", session_id)
        await act.commit_with(transaction)
    return opened


async def end_session(
    database: TenantDatabase, session: AuthenticatedSession, *, request_id: str | None = None
) -> None:
    """Sign out. A session that has ended already stays ended."""
    scope = _scope(session.key, request_id)
    async with (
        audited(database, scope, action="end_session", target=str(session.session_id)) as act,
        database.transaction() as transaction,
    ):
        ended = await transaction.rows("sessions.end", {"session_id": session.session_id})
        act.outcome(ended_count=len(ended))
        await act.commit_with(transaction)


async def create_link(database: TenantDatabase, *, process: str) -> NewLink:
    """A link that opens one session with the role admin, as a new key that ends with the session."""
    scope = Scope(owner=None, channel=GLOBAL_CHANNEL, process=process)
    parent = await keys.create(
        database,
        scope,
        role="admin",
        name=UI_KEY_NAME,
        expires_at=datetime.now(UTC) + timedelta(seconds=SESSION_S),
    )
    async with database.transaction() as transaction:
        link = await _open(transaction, parent.key_id, "link", new_id())
    return NewLink(link.session_id, link.expires_at, link.secret, parent.key_id)


async def use_link(database: Database, secret: str, *, request_id: str | None = None) -> NewSession:
    """Use a link up and open its session; NotAuthenticatedError if it is unknown, expired or used."""
    link = await _find(database, secret, "link")
    tenant_database = TenantDatabase(database, link.tenant)
    session_id = new_id()
    scope = _scope(link.key, request_id)
    async with (
        audited(tenant_database, scope, action="open_session", target=str(session_id)) as act,
        tenant_database.transaction() as transaction,
    ):
        if not await transaction.rows("sessions.end", {"session_id": link.session_id}):
            raise NotAuthenticatedError("This link has been used. Run `mnemic ui` for a new one.")
        opened = await _open(transaction, link.key.key_id, "session", session_id)
        await act.commit_with(transaction)
    return opened


async def find(database: Database, secret: str) -> AuthenticatedSession:
    """The open session with this secret, with its key and tenant; NotAuthenticatedError if there is none."""
    return await _find(database, secret, "session")


async def _open(transaction: Transaction, key_id: UUID, kind: Kind, session_id: UUID) -> NewSession:
    """Add a row and delete the oldest ones beyond the limit, while the key is locked."""
    secret = PREFIXES[kind] + secrets.token_urlsafe(SECRET_BYTES)
    parameters = {
        "session_id": session_id,
        "key_id": key_id,
        "kind": kind,
        "secret_hash": _digest(secret),
        "lifetime_s": LIFETIMES_S[kind],
        "kept_max": SESSIONS_PER_KEY_MAX,
    }
    if await transaction.first("sessions.hold_key", parameters) is None:
        raise NotAuthenticatedError("This API key has expired or was revoked. Ask for a new one.")
    row = await transaction.one("sessions.open", parameters)
    await transaction.execute("sessions.end_surplus", parameters)
    return NewSession(row["session_id"], row["expires_at"], secret)


async def _find(database: Database, secret: str, kind: Kind) -> AuthenticatedSession:
    if PATTERN.fullmatch(secret) is None or not secret.startswith(PREFIXES[kind]):
        raise NotAuthenticatedError(f"This is not the secret of a {kind}.")
    digest = _digest(secret)
    hash = digest.hex()
    rows = await database.signed_rows(
        query("sessions.find"), {"hash": hash}, purpose="find session", subject=hash
    )
    row = rows[0] if rows else None
    if row is None or row["kind"] != kind or not hmac.compare_digest(bytes(row["secret_hash"]), digest):
        raise NotAuthenticatedError(f"This {kind} has ended.")
    if row["condition"] != "active":
        raise NotAuthenticatedError(f"This {kind} is {row['condition']}.")
    key = ApiKey(**{name: row[name] for name in ApiKey.__dataclass_fields__ if name in row})
    tenant = Tenant(row["tenant_id"], row["tenant_name"])
    return AuthenticatedSession(tenant, key, row["session_id"], row["session_expires_at"])


def _digest(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def _scope(key: ApiKey, request_id: str | None) -> Scope:
    """The scope of the audit records: no owner, so that they outlive the owner of a key."""
    return Scope(None, GLOBAL_CHANNEL, PROCESS, key.key_id, request_id)
