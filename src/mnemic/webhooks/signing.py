"""Sign messages by the Standard Webhooks scheme (https://www.standardwebhooks.com).

A message has an id, which stays the same when it is sent again, and a timestamp in Unix seconds, which does
not. The signature is an HMAC-SHA-256 over ``id.timestamp.body`` with the bytes of the secret. Receivers
compare it with their own, and refuse messages older than a few minutes, so that a recorded message cannot be
replayed.

During a secret rotation there are two secrets and a signature by each; receivers accept either.
"""

import base64
import hmac
import secrets
from collections.abc import Sequence
from hashlib import sha256

SECRET_PREFIX = "whsec_"  # noqa: S105 (says what it is, no secret itself)
SECRET_BYTES = 32


def new_secret() -> str:
    """A new random secret, in the form that receivers store."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signed_headers(
    signing_secrets: Sequence[str], message_id: str, body: bytes, *, timestamp_s: int
) -> dict[str, str]:
    """The three headers that authenticate a message, signed with each of the secrets."""
    content = f"{message_id}.{timestamp_s}.".encode() + body
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": " ".join(_signature(secret, content) for secret in signing_secrets),
    }


def _signature(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    return f"v1,{base64.b64encode(hmac.digest(key, content, sha256)).decode()}"
