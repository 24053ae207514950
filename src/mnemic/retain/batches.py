"""Batches: the unit in which the items of a call are deduplicated, embedded and stored."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from mnemic.db.vectors import Vectors
from mnemic.retain.deduplicate import Deduplicated
from mnemic.retain.items import Draft
from mnemic.types.retained import Duplicate, Refused

BATCH_ROWS = 512
BATCH_CHARACTERS = 1_000_000
"""Characters of the contents and, as JSON, of the metadata of a batch."""


@dataclass(frozen=True, slots=True)
class Batch:
    """New drafts with their vectors, and the items of the batch that are not new.

    `vectors` has one row per chunk of the drafts, in order. It is None if there are no drafts or if the
    embedder failed; then `embedding_error` is its message.
    """

    drafts: tuple[Draft, ...]
    vectors: Vectors | None
    embedding_error: str | None
    duplicates: tuple[Duplicate, ...]
    refused: tuple[Refused, ...]

    def without_known(self, found: Deduplicated) -> "Batch":
        """The batch after another lookup, which found some of its drafts to be known."""
        return replace(
            self,
            drafts=found.new,
            vectors=self.vectors_of(found.new)[1] if found.new else None,
            duplicates=self.duplicates + found.duplicates,
            refused=self.refused + found.refused,
        )

    def vectors_of(self, drafts: Sequence[Draft]) -> tuple[list[UUID], Vectors]:
        """The memory ids of some drafts, chunk by chunk in the order of the batch, and their vectors."""
        assert self.vectors is not None, "the batch was embedded"
        wanted = {draft.index for draft in drafts}
        chunks = [(draft.index in wanted, chunk.memory_id) for draft in self.drafts for chunk in draft.chunks]
        ids = [memory_id for is_wanted, memory_id in chunks if is_wanted]
        if len(ids) == len(chunks):
            return ids, self.vectors
        return ids, self.vectors[[is_wanted for is_wanted, _ in chunks]]


def in_groups(drafts: Iterable[Draft]) -> Iterator[list[Draft]]:
    """Group drafts into the contents of batches; a draft larger than a batch is a group by itself."""
    group: list[Draft] = []
    rows = characters = 0
    for draft in drafts:
        size = len(draft.item.content) + _metadata_characters(draft.item.metadata)
        if group and (rows + len(draft.chunks) > BATCH_ROWS or characters + size > BATCH_CHARACTERS):
            yield group
            group, rows, characters = [], 0, 0
        group.append(draft)
        rows += len(draft.chunks)
        characters += size
    if group:
        yield group


def _metadata_characters(metadata: Mapping[str, Any]) -> int:
    """Its size as JSON. Metadata may be larger than the content, and its objects take up more memory."""
    return len(json.dumps(metadata)) if metadata else 0
