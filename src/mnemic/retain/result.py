"""Count what became of the items of a call, and list it as far as the list stays small."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from mnemic.retain.items import Draft
from mnemic.types.retained import OUTCOMES_KEPT, Duplicate, Refused, Retained, Stored

Outcome = TypeVar("Outcome", Stored, Duplicate, Refused)


@dataclass
class Outcomes:
    """Outcomes so far."""

    stored: list[Stored] = field(default_factory=list)
    duplicates: list[Duplicate] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    stored_count: int = 0
    duplicate_count: int = 0
    refused_count: int = 0
    awaiting_embedding_count: int = 0

    def add(
        self, stored: Sequence[Stored], duplicates: Sequence[Duplicate], refused: Sequence[Refused]
    ) -> None:
        """Take the outcomes of one batch into account."""
        self.stored_count += len(stored)
        self.duplicate_count += len(duplicates)
        self.refused_count += len(refused)
        _extend(self.stored, stored)
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


def _extend(kept: list[Outcome], more: Sequence[Outcome]) -> None:
    kept.extend(more[: OUTCOMES_KEPT - len(kept)])


def stored_as(draft: Draft) -> Stored:
    """What a draft became when it was stored."""
    chunk_ids = tuple(chunk.memory_id for chunk in draft.chunks)
    return Stored(draft.index, chunk_ids[0], chunk_ids)
