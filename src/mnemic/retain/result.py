"""Build the answer to a `retain` call, batch by batch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from mnemic.retain.items import Draft
from mnemic.types.retained import OUTCOMES_LISTED_MAX, Duplicate, Refused, Retained, Stored

Listed = TypeVar("Listed", Stored, Duplicate, Refused)


@dataclass
class ResultBuilder:
    """The result so far. The lists hold the first `OUTCOMES_LISTED_MAX` entries, the counts are exact."""

    stored: list[Stored] = field(default_factory=list)
    duplicates: list[Duplicate] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    stored_count: int = 0
    duplicate_count: int = 0
    refused_count: int = 0
    awaiting_embedding_count: int = 0

    def add(
        self, stored: Sequence[Draft], duplicates: Sequence[Duplicate] = (), refused: Sequence[Refused] = ()
    ) -> None:
        """Add the items of one batch."""
        self.stored_count += len(stored)
        self.duplicate_count += len(duplicates)
        self.refused_count += len(refused)
        _extend(self.stored, list(map(_as_stored, stored)))
        _extend(self.duplicates, duplicates)
        _extend(self.refused, refused)

    def retained(self) -> Retained:
        """The answer to the caller."""
        return Retained(
            stored=tuple(self.stored),
            duplicates=tuple(sorted(self.duplicates, key=lambda duplicate: duplicate.index)),
            refused=tuple(self.refused),
            stored_count=self.stored_count,
            duplicate_count=self.duplicate_count,
            refused_count=self.refused_count,
            awaiting_embedding_count=self.awaiting_embedding_count,
        )


def _extend(listed: list[Listed], more: Sequence[Listed]) -> None:
    listed.extend(more[: OUTCOMES_LISTED_MAX - len(listed)])


def _as_stored(draft: Draft) -> Stored:
    chunk_ids = tuple(chunk.memory_id for chunk in draft.chunks)
    return Stored(draft.index, chunk_ids[0], chunk_ids)
