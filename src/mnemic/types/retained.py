"""The result of `retain`."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Stored:
    """An item that was new. A long text is several memories; `chunk_ids` are all of them, in order."""

    index: int
    memory_id: UUID
    chunk_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """An item that is stored already; the existing memory was reinforced."""

    index: int
    duplicate_of: UUID


@dataclass(frozen=True, slots=True)
class Refused:
    """An item that was not stored, and why."""

    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class Retained:
    """The outcome of each item of one call; `index` counts them from 0.

    The counts are exact. Of very large calls only the first `OUTCOMES_LISTED_MAX` outcomes of each kind
    are listed, so that the result stays small.
    """

    stored: tuple[Stored, ...]
    duplicates: tuple[Duplicate, ...]
    refused: tuple[Refused, ...]
    stored_count: int
    duplicate_count: int
    refused_count: int
    awaiting_embedding_count: int

    @property
    def memory_ids(self) -> tuple[UUID, ...]:
        """The memories of the items that were stored or are duplicates, in the order of the items."""
        known = [(item.index, item.memory_id) for item in self.stored]
        known += [(item.index, item.duplicate_of) for item in self.duplicates]
        return tuple(memory_id for _, memory_id in sorted(known))


OUTCOMES_LISTED_MAX = 10_000
