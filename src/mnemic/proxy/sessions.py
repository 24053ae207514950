"""Which session a request belongs to.

Clients name their session in a header, or in the body; otherwise the beginning of the conversation names it
(`beginning.py`). The root of the conversation is always part of the identity: subagents send the session of
their parent, but begin with other words, and a client that compacts a conversation begins a new one.
"""

import hashlib
from collections.abc import Mapping

from mnemic.proxy.protocol import Conversation

SESSION_HEADERS = ("x-claude-code-session-id", "x-session-id", "session_id", "session-id")
"""Headers of Claude Code, opencode and codex, in lower case."""
HASH_DIGITS = 32
ROOT_DIGITS = 16


def identify(headers: Mapping[str, str], conversation: Conversation) -> str | None:
    """The name of a session; None if the client does not name it. `headers` by name in lower case.

    What the client says is hashed: it may be long, and it may be an e-mail address or another secret.
    """
    client = _named(headers) or conversation.client_session
    if not client:
        return None
    digest = hashlib.sha256(client.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_DIGITS]
    return session_name(conversation, digest)


def client_digest(headers: Mapping[str, str]) -> bytes:
    """A digest of what a client calls its session in a header; empty if it does not."""
    named = _named(headers)
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).digest() if named else b""


def session_name(conversation: Conversation, digest: str) -> str:
    """The name of a session, from the digest of what identifies it."""
    return f"proxy-{digest}-{conversation.root.hex()[:ROOT_DIGITS]}"


def _named(headers: Mapping[str, str]) -> str:
    return next((headers[name] for name in SESSION_HEADERS if headers.get(name)), "")
