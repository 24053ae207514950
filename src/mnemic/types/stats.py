"""Row counts of a tenant."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class TenantStats:
    """Numbers of rows of a tenant."""

    memory_count: int
    active_memory_count: int
    earlier_version_count: int
    conversation_count: int
    entity_count: int
    document_count: int
    pending_near_duplicate_count: int
    awaiting_embedding_count: int
    counted_at: datetime
    """When the oldest of these counts was made."""
