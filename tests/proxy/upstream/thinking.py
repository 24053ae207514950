"""Signed thinking, bound to what was before it (preserved thinking).

The signature of a block covers its text, the blocks of the prompt before it without their thinking, and the
thinking block before it. So a block is invalid if anything before it changed, or if thinking between two
blocks was left out; leaving out the first ones is allowed.
"""

import hashlib
import hmac
from typing import Any

from tests.proxy.upstream.canonical import canonical

KEY = b"a key of the stand-in"
THOUGHTS = ("thinking", "redacted_thinking")


class Prefix:
    """A running hash of instructions, tools and all blocks, with their roles, that are not thinking."""

    def __init__(self, system: Any, tools: Any) -> None:
        self._hash = hashlib.sha256(canonical([system, tools]).encode())

    def add(self, role: str, block: dict[str, Any]) -> None:
        if block.get("type") not in THOUGHTS:
            self._hash.update(hashlib.sha256(canonical([role, block]).encode()).digest())

    def value(self) -> str:
        return self._hash.hexdigest()


def signature(text: str, prefix: str, previous: str) -> str:
    """Three hashes: of the text, of the prefix, of the signature of the thinking block before."""
    return ".".join((_signed(text), _signed(prefix), _signed(previous)))


def text_is_intact(block: dict[str, Any]) -> bool:
    return str(block.get("signature", "")).split(".")[0] == _signed(str(block.get("thinking", "")))


def fits(block: dict[str, Any], prefix: str, previous: str | None) -> bool:
    """Whether a block follows what it was made after; `previous` is None if no thinking is before it."""
    parts = str(block.get("signature", "")).split(".")
    if len(parts) != 3 or parts[1] != _signed(prefix):
        return False
    return previous is None or parts[2] == _signed(previous)


def _signed(text: str) -> str:
    return hmac.new(KEY, text.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()[:32]
