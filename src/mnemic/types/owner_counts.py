"""How much an owner holds."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

OwnerOrder = Literal["name", "memories", "activity"]
OWNER_ORDERS: tuple[str, ...] = get_args(OwnerOrder)


@dataclass(frozen=True, slots=True)
class OwnerCounts:
    """Counts of one owner as of `counted_at`; all 0 if that is None: the owner was not counted yet."""

    owner: str
    memory_count: int
    """All memories: also archived and forgotten ones, and each part of a long text."""
    active_memory_count: int
    conversation_count: int
    document_count: int
    entity_count: int
    text_bytes: int
    """Bytes of the memories' text, as UTF-8."""
    last_activity_at: datetime
    """When something of the owner last changed, even if that is after `counted_at`."""
    counted_at: datetime | None
    is_current: bool
    """Whether nothing of the owner has changed since it was counted."""
