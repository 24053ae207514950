"""API keys of a Mnemic server.

A key is `mn_` and 43 random characters, 256 bits. It is shown once, when it is created; only its SHA-256 is
stored, without a salt, since 256 random bits cannot be guessed. A key is *active* until it *expires*, if it
has an expiry, or is *revoked*. Both are final. A server looks the key up in every request, so that a revoked
key is refused from the next request on.

The role says what a key allows: `read`; `write`, which includes `read`; `admin`, which includes both. An
admin key is for the whole tenant; a key of one owner has the role `read` or `write`.

Creating and revoking keys is audited, by the id of the key.
"""

import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, get_args
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import Database, TenantDatabase, Transaction
from mnemic.db.pagination import newest_first
from mnemic.db.tenancy import Tenant
from mnemic.errors import InvalidInputError, NotAuthenticatedError, NotFoundError
from mnemic.govern.audit import audited
from mnemic.sql import query
from mnemic.types.checks import check_choice, check_flag, check_id, check_time
from mnemic.types.identity import new_id
from mnemic.types.key import ApiKey, NewApiKey, Role
from mnemic.types.scope import Scope, check_name

KEY_BYTES = 32
KEY_PATTERN = re.compile(r"mn_[A-Za-z0-9_-]{43}")
PREFIX_CHARACTERS = 9
"""`mn_` and six more: enough to tell keys apart; 220 bits stay secret."""
ANY_KEY = "any"


@dataclass(frozen=True)
class AuthenticatedKey:
    """A valid key and its tenant."""

    tenant: Tenant
    key: ApiKey

    @property
    def credential_id(self) -> UUID:
        """The id of what was looked up: of the key, or of the session."""
        return self.key.key_id


async def create(
    database: TenantDatabase,
    scope: Scope,
    *,
    role: str,
    name: str | None,
    expires_at: datetime | str | None,
) -> NewApiKey:
    """Create a key for the scope's owner, or for the whole tenant if it has none."""
    secret = f"mn_{secrets.token_urlsafe(KEY_BYTES)}"
    parameters: dict[str, Any] = {
        "tenant_id": database.tenant.id,
        "key_id": new_id(),
        "name": check_name("name", name) if name is not None else None,
        "role": _check_role(role, scope.owner),
        "owner": scope.owner,
        "key_hash": _digest(secret),
        "prefix": secret[:PREFIX_CHARACTERS],
        "expires_at": _check_expiry(expires_at) if expires_at is not None else None,
    }
    detail = {"role": parameters["role"], "expires_at": _written(parameters["expires_at"])}
    async with (
        audited(database, scope, action="create_key", target=str(parameters["key_id"]), detail=detail) as act,
        database.transaction() as transaction,
    ):
        row = await transaction.one("keys.create", parameters)
        await act.commit_with(transaction)
    return NewApiKey(**row, key=secret)


async def get(database: TenantDatabase, scope: Scope, key_id: UUID | str) -> ApiKey:
    """One key; if the scope has an owner, only one of that owner."""
    async with database.transaction() as transaction:
        return await _get(transaction, _one_key(scope, key_id))


async def revoke(database: TenantDatabase, scope: Scope, key_id: UUID | str) -> ApiKey:
    """Revoke a key. A revoked one stays as it is, and is not audited again."""
    parameters = _one_key(scope, key_id)
    async with database.transaction() as transaction:
        key = await _get(transaction, parameters)
    if key.revoked_at is not None:
        return key
    async with (
        audited(database, scope, action="revoke_key", target=str(key.key_id)) as act,
        database.transaction() as transaction,
    ):
        # 0 if another call revoked it in the meantime.
        act.outcome(revoked_count=await transaction.execute("keys.revoke", parameters))
        await transaction.execute("sessions.end_of_key", {"key_id": key.key_id})
        revoked = await _get(transaction, parameters)
        await act.commit_with(transaction)
    return revoked


async def list_keys(
    database: TenantDatabase, scope: Scope, *, include_ended: bool, before: UUID | str | None, limit: int
) -> list[ApiKey]:
    """Keys, newest first: those of the scope's owner, or all of the tenant if it has none."""
    parameters = {"owner": scope.owner, "include_ended": check_flag("include_ended", include_ended)}
    rows = await newest_first(database, "keys", parameters, before=before, limit=limit)
    return [ApiKey(**row) for row in rows]


async def find(database: Database, secret: str) -> AuthenticatedKey:
    """The key with this text, and its tenant; NotAuthenticatedError if it is not valid.

    The database looks up the hash of the secret, so that the time of the lookup says nothing about other
    keys; the hash that it finds is compared once more in constant time.
    """
    digest = _digest(secret)
    if KEY_PATTERN.fullmatch(secret) is None:
        raise NotAuthenticatedError("This is not an API key: API keys are mn_ and 43 characters.")
    hash = digest.hex()
    rows = await database.signed_rows(query("keys.find"), {"hash": hash}, purpose="find key", subject=hash)
    row = rows[0] if rows else None
    if row is None or not hmac.compare_digest(bytes(row["key_hash"]), digest):
        raise NotAuthenticatedError("This API key is unknown.")
    if row["condition"] != "active":
        raise NotAuthenticatedError(f"This API key is {row['condition']}. Ask for a new one.")
    return AuthenticatedKey(Tenant(row["tenant_id"], row["tenant_name"]), ApiKey(**_listed(row)))


async def any_exist(database: Database) -> bool:
    """Whether any tenant has an active key."""
    async with database.privileged_transaction("key", ANY_KEY) as queries:
        row = await queries.one("keys.exist")
        return bool(row["exist"])


async def note_uses(database: TenantDatabase, last_used_ats: Mapping[UUID, datetime]) -> int:
    """Write when keys of this tenant were last used; returns how many were updated."""
    ids = sorted(last_used_ats)
    parameters = {"key_ids": ids, "last_used_ats": [last_used_ats[key_id] for key_id in ids]}

    async def note(transaction: Transaction) -> int:
        return await transaction.execute("keys.note_uses", parameters)

    return await database.run(note)


async def _get(transaction: Transaction, parameters: Mapping[str, Any]) -> ApiKey:
    row = await transaction.first("keys.get", parameters)
    if row is None:
        raise NotFoundError(f"There is no API key with the id {parameters['key_id']} here.")
    return ApiKey(**row)


def _one_key(scope: Scope, key_id: UUID | str) -> dict[str, Any]:
    return {"owner": scope.owner, "key_id": check_id("key_id", key_id)}


def _listed(row: Row) -> Row:
    return {field: row[field] for field in ApiKey.__dataclass_fields__ if field in row}


def _digest(secret: str) -> bytes:
    return sha256(secret.encode(errors="surrogatepass")).digest()


def _check_role(role: object, owner: str | None) -> str:
    checked = check_choice("role", role, get_args(Role))
    if checked == "admin" and owner is not None:
        raise InvalidInputError(
            "role must be read or write for a key with an owner: an admin key is for the whole tenant."
        )
    return checked


def _check_expiry(value: object) -> datetime:
    expires_at = check_time("expires_at", value)
    if expires_at <= datetime.now(UTC):
        raise InvalidInputError("expires_at must lie in the future.")
    return expires_at


def _written(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None
