"""The memories that were chosen, as records.

Short ones came along with the candidates, column by column (`mnemic.candidate_features`), and are put
together here; long ones, of which a search passes many to choose a few, are read when they are chosen.
"""

from collections.abc import Sequence
from functools import lru_cache
from json import loads
from typing import Any
from uuid import UUID

import numpy as np

from mnemic.db.database import TenantDatabase
from mnemic.db.id_arrays import IdArray, Key
from mnemic.recall.choose import Choice
from mnemic.recall.pool import Pool
from mnemic.recall.request import Request
from mnemic.types.memory import MemoryRecord

_REALS = ("confidence", "usefulness", "salience")
_REALS_KEPT = 1_024


async def records_of(
    database: TenantDatabase, request: Request, chosen: Sequence[Choice]
) -> dict[Key, MemoryRecord]:
    """The memories that were chosen, and with `include` the turns around them."""
    wanted = {choice.key: (choice.pool, choice.place) for choice in chosen}
    if "neighbours" in request.include:
        for choice in chosen:
            around = choice.neighbour_places
            wanted |= {choice.pool.keys[place]: (choice.pool, place) for place in around}
    records = {key: record for key, at in wanted.items() if (record := _record(*at)) is not None}
    missing = [key for key in wanted if key not in records]
    return records | await _read(database, request, missing) if missing else records


async def _read(database: TenantDatabase, request: Request, keys: Sequence[Key]) -> dict[Key, MemoryRecord]:
    """Memories from the database; what was erased meanwhile is gone."""
    if request.as_of is None:
        rows = await database.read("recall.records", {"ids": IdArray(keys)})
    else:
        parameters = {"ids": IdArray(keys), "as_of": request.as_of}
        async with database.transaction() as transaction:
            rows = await transaction.rows_planned_anew("recall.records_as_of", parameters)
    exact = ({**row, **{name: _exact(row[name]) for name in _REALS}} for row in rows)
    return {row["memory_id"].bytes: MemoryRecord.from_row(row) for row in exact}


def _record(pool: Pool, place: int) -> MemoryRecord | None:
    """A member of a pool as a record; None if it is one that did not come along."""
    row, at = pool.origins[place]
    content = row["content"][at]
    if content is None:
        return None
    return MemoryRecord(
        memory_id=UUID(bytes=pool.keys[place]),
        version=row["version"][at],
        owner=pool.source.owner,
        channel=row["channels"][at],
        process=row["process"][at],
        conversation=row["conversations"][at],
        position=row["positions"][at],
        role=row["roles"][at],
        name=row["names"][at],
        content=content,
        category=row["category"][at],
        tags=_texts(row["tags"][at]),
        metadata=_object(row["metadata"][at]),
        source=row["source"][at],
        provenance=row["provenance"][at],
        evidence=_texts(row["evidence"][at]),
        confidence=_exact(row["confidences"][at]),
        anchored=row["anchored"][at],
        status=row["status"][at],
        superseded_by=_id(row["superseded_by"][at]),
        merged_into=_id(row["merged_into"][at]),
        at=row["at"][at],
        valid_from=row["valid_from"][at],
        valid_to=row["valid_to"][at],
        expires_at=row["expires_at"][at],
        deleted_at=None,
        created_at=row["created_at"][at],
        recorded_at=row["recorded_at"][at],
        changed_by=row["changed_by"][at],
        change_reason=row["change_reason"][at],
        whole_id=_id(row["whole_id"][at]),
        chunk_index=row["chunk_index"][at],
        chunk_count=row["chunk_count"][at],
        external_id=row["external_id"][at],
        usefulness=_exact(row["usefulnesses"][at]),
        salience=_exact(row["saliences"][at]),
        reinforcement_count=row["reinforcement_count"][at],
        retrieval_count=row["retrieval_count"][at],
        last_retrieved_at=row["last_retrieved_at"][at],
        last_injected_at=row["last_injected_at"][at],
    )


@lru_cache(_REALS_KEPT)
def _exact(real: float) -> float:
    """A number of four bytes as it was stored, .3 and not .30000001192092896; most are the same few."""
    return float(str(np.float32(real)))


def _texts(written: str | None) -> tuple[str, ...]:
    return () if written is None else tuple(loads(written))


def _object(written: str | None) -> dict[str, Any]:
    return {} if written is None else dict(loads(written))


def _id(written: str | None) -> UUID | None:
    return None if written is None else UUID(written)
