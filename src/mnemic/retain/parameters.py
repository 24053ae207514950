"""What the database is told to store: the rows of drafts, as JSON, and their vectors."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from mnemic.db.half_vectors import HalfVectors
from mnemic.db.id_arrays import IdArray
from mnemic.db.vectors import Vectors
from mnemic.retain.items import Chunk, Draft
from mnemic.retain.spool import Batch
from mnemic.retain.write_plan import Plan

_JSON = json.JSONEncoder(default=str)


class Row(NamedTuple):
    """A row to be: its words, and all its fields as JSON. Its position is known only when it is stored."""

    content: str
    fields: str


Rows = Mapping[int, list[Row]]
"""The rows of drafts, by the index of the draft."""


def rows_of(draft: Draft) -> list[Row]:
    """The rows of a draft. What is None or empty is left out, as most fields of most items are."""
    shared = {name: value for name, value in vars(draft.item).items() if value or value in (False, 0.0)}
    if draft.whole_hash is not None:
        shared |= {
            "whole_id": draft.chunks[0].memory_id,
            "whole_hash": draft.whole_hash.hex(),
            "chunk_count": len(draft.chunks),
        }
    return [Row(chunk.content, _JSON.encode(shared | _own_fields(chunk))) for chunk in draft.chunks]


def storing(
    tenant_id: UUID, plan: Plan, drafts: Sequence[Draft], rows: Rows, positions: Mapping[int, int | None]
) -> dict[str, Any]:
    """The parameters that store drafts at positions; vectors come on top, see `vectors_of`."""
    # Two calls that store the same words wait for each other in one order, not in a circle.
    ordered = sorted(drafts, key=lambda draft: rows[draft.index][0].content)
    others = [(row, positions[draft.index]) for draft in drafts for row in rows[draft.index][1:]]
    return {
        "tenant_id": tenant_id,
        "owner": plan.owner,
        "channel": plan.scope.channel,
        "process": plan.scope.process,
        "firsts": _json([rows[draft.index][0] for draft in ordered]),
        "places": _places(positions[draft.index] for draft in ordered),
        "others": _json([row for row, _ in others]) if others else None,
        "other_places": _places(position for _, position in others),
        "model": plan.model,
        "ids": None,
        "vectors": None,
    }


def vectors_of(batch: Batch, drafts: Sequence[Draft]) -> dict[str, Any]:
    """The parameters that store the vectors of drafts of a batch that has some."""
    ids, vectors = kept(batch, drafts)
    return {"ids": IdArray(memory_id.bytes for memory_id in ids), "vectors": HalfVectors(vectors)}


def kept(batch: Batch, drafts: Sequence[Draft]) -> tuple[list[UUID], Vectors]:
    """The ids of the rows of some drafts of a batch, in its order, and their vectors."""
    assert batch.vectors is not None, "the batch was embedded"
    wanted = {draft.index for draft in drafts}
    chunks = [(draft.index in wanted, chunk.memory_id) for draft in batch.drafts for chunk in draft.chunks]
    ids = [memory_id for is_wanted, memory_id in chunks if is_wanted]
    if len(ids) == len(chunks):
        return ids, batch.vectors
    return ids, batch.vectors[[is_wanted for is_wanted, _ in chunks]]


def _places(positions: Iterable[int | None]) -> list[int | None] | None:
    """The places of rows; None if none of them has one: the driver takes its time over every list."""
    places = list(positions)
    return None if all(place is None for place in places) else places


def _own_fields(chunk: Chunk) -> dict[str, Any]:
    """What a chunk does not share with the others of its draft."""
    own = {"memory_id": chunk.memory_id, "content": chunk.content}
    return own if chunk.index is None else {**own, "chunk_index": chunk.index}


def _json(rows: Sequence[Row]) -> str:
    return f"[{','.join(row.fields for row in rows)}]"
