"""Totals of a call, collected while its batches are prepared: the write needs them before its first row."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from mnemic.retain.batches import Batch
from mnemic.types.scope import Scope


@dataclass
class NewTurns:
    """The turns that a call adds to one conversation."""

    count: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None

    def add(self, at: datetime | None) -> None:
        """Count one more turn."""
        self.count += 1
        if at is not None:
            self.first_at = min(self.first_at or at, at)
            self.last_at = max(self.last_at or at, at)


@dataclass
class WritePlan:
    """Scope and embedding model of a call, and the totals of the batches prepared so far."""

    scope: Scope
    model: str
    item_count: int = 0
    chunk_count: int = 0
    batch_count: int = 0
    dimensions: int | None = None
    conversations: dict[str, NewTurns] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        """The owner of the memories."""
        return self.scope.require_owner()

    def add(self, batch: Batch) -> None:
        """Add a prepared batch to the totals."""
        self.item_count += len(batch.drafts) + len(batch.duplicates) + len(batch.refused)
        self.batch_count += 1
        if batch.vectors is not None:
            self.dimensions = batch.vectors.shape[1]
        for draft in batch.drafts:
            self.chunk_count += len(draft.chunks)
            if draft.item.conversation is not None:
                self.conversations.setdefault(draft.item.conversation, NewTurns()).add(draft.item.at)

    def replanned(self, batches: Iterable[Batch]) -> "WritePlan":
        """The plan of the same call with other batches."""
        plan = WritePlan(self.scope, self.model)
        for batch in batches:
            plan.add(batch)
        return plan
