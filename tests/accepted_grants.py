"""Grants that are in effect, for tests of what they open."""

from typing import Any

from mnemic.types.share import Grant


async def accepted_grant(memory: Any, to: str, **options: Any) -> Grant:
    """Offer a grant and accept it for its reader."""
    offered = await memory.shares.grant(to, **options)
    accepted: Grant = await memory.shares.accept(offered.grant_id, owner=to)
    return accepted
