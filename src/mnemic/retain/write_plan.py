"""What a call is known to need before it is written, gathered while its batches are made ready."""

from dataclasses import dataclass, field
from datetime import datetime

from mnemic.retain.spool import Batch
from mnemic.types.scope import Scope

# A statement that turns out to be in vain is to cost little.
SMALL_MAX_CHUNKS = 32


@dataclass
class Conversation:
    """Turns that a call adds to one conversation."""

    turn_count: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None

    def add(self, at: datetime | None) -> None:
        """Count one more turn."""
        self.turn_count += 1
        if at is not None:
            self.first_at = min(self.first_at or at, at)
            self.last_at = max(self.last_at or at, at)


@dataclass
class Plan:
    """A call, as far as its batches are ready."""

    scope: Scope
    model: str
    item_count: int = 0
    chunk_count: int = 0
    batch_count: int = 0
    dimensions: int | None = None
    conversations: dict[str, Conversation] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        """Whose memories these are."""
        return self.scope.require_owner()

    @property
    def is_small(self) -> bool:
        """Whether there are few enough rows to store them by one statement, perhaps in vain."""
        return self.chunk_count <= SMALL_MAX_CHUNKS

    def add(self, batch: Batch) -> None:
        """Take a ready batch into account."""
        self.item_count += len(batch.drafts) + len(batch.duplicates) + len(batch.refused)
        self.batch_count += 1
        if batch.vectors is not None:
            self.dimensions = batch.vectors.shape[1]
        for draft in batch.drafts:
            self.chunk_count += len(draft.chunks)
            if draft.item.conversation is not None:
                self.conversations.setdefault(draft.item.conversation, Conversation()).add(draft.item.at)
