"""SQL parameters that store drafts: their rows as JSON, their positions and their vectors."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from mnemic.db.half_vectors import HalfVectors
from mnemic.db.id_arrays import IdArray
from mnemic.retain.batches import Batch
from mnemic.retain.items import Chunk, Draft
from mnemic.retain.write_plan import WritePlan

_JSON = json.JSONEncoder(default=str)


class EncodedRow(NamedTuple):
    """A row of `state.memories` to insert: its content, and all its fields as JSON.

    The position in a conversation is not in the JSON: it is assigned when the row is stored.
    """

    content: str
    fields: str


EncodedRows = Mapping[int, list[EncodedRow]]
"""The rows of each draft, by the index of the draft."""


def encode_rows(draft: Draft) -> list[EncodedRow]:
    """One row per chunk. None and empty values, which most fields of most items have, are left out."""
    shared = {name: value for name, value in vars(draft.item).items() if value or value in (False, 0.0)}
    if draft.whole_hash is not None:
        shared |= {
            "whole_id": draft.chunks[0].memory_id,
            "whole_hash": draft.whole_hash.hex(),
            "chunk_count": len(draft.chunks),
        }
    return [EncodedRow(chunk.content, _JSON.encode(shared | _own_fields(chunk))) for chunk in draft.chunks]


def row_parameters(
    tenant_id: UUID,
    plan: WritePlan,
    drafts: Sequence[Draft],
    rows: EncodedRows,
    positions: Mapping[int, int | None],
) -> dict[str, Any]:
    """The parameters that store drafts at positions, without vectors; `vector_parameters` adds those."""
    # Insert in a fixed order to avoid deadlocks between calls that store the same contents.
    ordered = sorted(drafts, key=lambda draft: rows[draft.index][0].content)
    others = [(row, positions[draft.index]) for draft in drafts for row in rows[draft.index][1:]]
    return {
        "tenant_id": tenant_id,
        "owner": plan.owner,
        "channel": plan.scope.channel,
        "process": plan.scope.process,
        "firsts": _json([rows[draft.index][0] for draft in ordered]),
        "positions": _position_array(positions[draft.index] for draft in ordered),
        "others": _json([row for row, _ in others]) if others else None,
        "other_positions": _position_array(position for _, position in others),
    }


def vector_parameters(batch: Batch, drafts: Sequence[Draft]) -> dict[str, Any]:
    """The parameters that store the vectors of some drafts of an embedded batch."""
    ids, vectors = batch.vectors_of(drafts)
    return {"ids": IdArray(memory_id.bytes for memory_id in ids), "vectors": HalfVectors(vectors)}


def _position_array(positions: Iterable[int | None]) -> list[int | None] | None:
    """The positions of rows, or None if no row has one: psycopg takes long to adapt a list."""
    array = list(positions)
    return None if all(position is None for position in array) else array


def _own_fields(chunk: Chunk) -> dict[str, Any]:
    """The fields in which the chunks of one draft differ."""
    own = {"memory_id": chunk.memory_id, "content": chunk.content}
    return own if chunk.index is None else {**own, "chunk_index": chunk.index}


def _json(rows: Sequence[EncodedRow]) -> str:
    return f"[{','.join(row.fields for row in rows)}]"
