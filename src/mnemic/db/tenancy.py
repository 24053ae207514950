"""Tenants, and the proofs by which the database verifies the tenant of a transaction.

The database does not trust the application: `mnemic.verified_claim` verifies, for each statement, that
the stated tenant was signed with a key that the application's role cannot read. A proof is an
HMAC-SHA-256 over *purpose*, *subject* and *moment*:

=============== ================= ====================================================
purpose         subject           lets the transaction
=============== ================= ====================================================
``tenant``      the tenant's id   see and write the rows of that tenant
``opening``     a tenant's name   find that tenant's id, or create the tenant
``maintenance`` the tenant's id   erase an owner, and import rows with their history
``working``     ``queue``         claim and settle the jobs of all tenants
``key``         a key's SHA-256   find the API key that has this hash, and its tenant
``session``     its SHA-256       find the session that has this hash, its key and tenant
=============== ================= ====================================================

The moment (process id of the backend, start time of the transaction) ties a proof to one transaction:
it is invalid on another connection and in the next transaction.

A statement that is a transaction by itself can carry a *signature* instead, made in the same way for a
purpose and a backend process: ``turn`` for ``queue`` lets it do what ``working`` allows, ``enter`` for a
tenant's id what ``tenant`` does, ``find key`` and ``find session`` for a SHA-256 what ``key`` and ``session``
do. It saves the round trip for the moment. It is never stored in a setting, only passed to the function that
checks it, so later SQL in the same process cannot read it.
"""

import hmac
import secrets
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from mnemic.errors import ConfigurationError

Purpose = Literal["tenant", "opening", "maintenance", "working", "key", "session"]
SignedPurpose = Literal["claim jobs", "authenticate", "find key", "find session", "prove server"]

KEY_BYTES = 32
LOGIN_PREFIX = "mnemic_login_"
_HMAC_BLOCK_BYTES = 64


@dataclass(frozen=True)
class Tenant:
    """One tenant: its name, and the id in its rows."""

    id: UUID
    name: str
    default_schedules: frozenset[str] | None = field(default=None, compare=False, repr=False)
    """Default schedules that it had when it was opened; None if it was not opened by name."""


@dataclass(frozen=True)
class SigningKey:
    """The secret that signs proofs; it never appears in a representation or a log."""

    secret: bytes = field(repr=False)

    @classmethod
    def new(cls) -> "SigningKey":
        """A fresh random key."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def from_hex(cls, text: str) -> "SigningKey":
        """The key in the settings."""
        try:
            secret = bytes.fromhex(text)
        except ValueError:
            secret = b""
        if len(secret) != KEY_BYTES:
            raise ConfigurationError(
                f"tenant_key must be {2 * KEY_BYTES} hexadecimal digits, "
                f"as `openssl rand -hex {KEY_BYTES}` prints."
            )
        return cls(secret)

    def proof(self, purpose: Purpose, subject: str, *, moment: str) -> str:
        """The proof of a subject for one transaction; `mnemic.verified_claim` in the database verifies it."""
        return self._sign(f"{purpose}\n{subject}\n{moment}")

    def signature(self, purpose: SignedPurpose, subject: str, *, process: str) -> str:
        """The signature of a subject for one backend process; the called database function verifies it."""
        return self._sign(f"{purpose}\n{subject}\n{process}")

    @property
    def login(self) -> str:
        """The login role of this key; each database of a server has its own."""
        return f"{LOGIN_PREFIX}{self._sign('login name')[:12]}"

    @property
    def login_password(self) -> str:
        """Password of the login, derived from the key so that it is not stored."""
        return self._sign("login password")

    @property
    def inner_block(self) -> bytes:
        """The key XORed with HMAC's inner pad, as the database stores it."""
        return self._block(0x36)

    @property
    def outer_block(self) -> bytes:
        """The key XORed with HMAC's outer pad, as the database stores it."""
        return self._block(0x5C)

    def _sign(self, message: str) -> str:
        return hmac.digest(self.secret, message.encode(), "sha256").hex()

    def _block(self, pad: int) -> bytes:
        return bytes(byte ^ pad for byte in self.secret.ljust(_HMAC_BLOCK_BYTES, b"\0"))
