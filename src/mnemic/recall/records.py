"""The records of the selected memories.

The searches return short records with the candidates, column by column (mnemic.candidate_features). Long
ones are read here, since only few of the candidates are selected.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from json import loads
from uuid import UUID

import numpy as np

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase
from mnemic.db.id_arrays import IdArray, Key
from mnemic.recall.candidates.columns import details_at
from mnemic.recall.candidates.pool import CandidatePool
from mnemic.recall.readable_owners import ReadableOwner
from mnemic.recall.request import Request
from mnemic.recall.selection import RankedCandidate
from mnemic.types.memory import MemoryRecord

_FLOAT4_COLUMNS = ("confidence", "usefulness", "salience")
_CACHED_FLOATS = 1_024


async def read_records(
    database: TenantDatabase, request: Request, selected: Sequence[RankedCandidate]
) -> dict[Key, MemoryRecord]:
    """The records of the selected memories, and of their neighbours if `include` asks for them.

    A memory that was erased since it was found is missing.
    """
    wanted = {candidate.key: (candidate.pool, candidate.index) for candidate in selected}
    if "neighbours" in request.include:
        for candidate in selected:
            pool = candidate.pool
            wanted |= {pool.keys[index]: (pool, index) for index in candidate.neighbour_indexes}
    records = {key: record for key, at in wanted.items() if (record := _record(*at)) is not None}
    missing = {key: pool.readable for key, (pool, _) in wanted.items() if key not in records}
    in_branch = [key for key, readable in missing.items() if readable.filter.branch is not None]
    found: dict[Key, MemoryRecord] = {}
    if in_branch:
        found |= await _read_in_branch(database, request, missing[in_branch[0]], in_branch)
    if others := [key for key in missing if key not in in_branch]:
        found |= await _read(database, request, others)
    for key, record in found.items():
        records[key] = replace(record, outdated_by=_outdated_by(*wanted[key]))
    return {key: _as_readable(record, *wanted[key]) for key, record in records.items()}


def _as_readable(record: MemoryRecord, pool: CandidatePool, index: int) -> MemoryRecord:
    """A memory without what no grant opens: its use by others, and ids of memories beyond the grant."""
    readable = pool.readable
    if readable.grant_id is None:
        return record
    unused = replace(
        record,
        usefulness=_exact(float(pool.usefulnesses[index])),
        salience=_exact(float(pool.saliences[index])),
        retrieval_count=0,
        last_retrieved_at=None,
        last_injected_at=None,
    )
    if readable.covers_everything:
        return unused
    evidence = tuple(text for text in record.evidence if not _is_id(text))
    return replace(unused, superseded_by=None, merged_into=None, evidence=evidence)


def _is_id(reference: str) -> bool:
    try:
        UUID(reference)
    except ValueError:
        return False
    return True


async def _read(database: TenantDatabase, request: Request, keys: Sequence[Key]) -> dict[Key, MemoryRecord]:
    """Records from the database, as they are or as they were at `as_of`."""
    if request.as_of is None:
        rows = await database.read("recall.records", {"ids": IdArray(keys)})
    else:
        parameters = {"ids": IdArray(keys), "as_of": request.as_of}
        async with database.transaction() as transaction:
            rows = await transaction.rows_unprepared("recall.records_as_of", parameters)
    return _by_key(rows)


async def _read_in_branch(
    database: TenantDatabase, request: Request, readable: ReadableOwner, keys: Sequence[Key]
) -> dict[Key, MemoryRecord]:
    """Records as the branch reads them: its own, and those of its parents as of the fork."""
    parameters = {**readable.parameters(request), "ids": IdArray(keys)}
    async with database.transaction() as transaction:
        return _by_key(await transaction.rows_unprepared("recall.records_in_branch", parameters))


def _by_key(rows: Iterable[Row]) -> dict[Key, MemoryRecord]:
    exact = ({**row, **{name: _exact(row[name]) for name in _FLOAT4_COLUMNS}} for row in rows)
    return {row["memory_id"].bytes: MemoryRecord.from_row(row) for row in exact}


def _record(pool: CandidatePool, index: int) -> MemoryRecord | None:
    """The record of a candidate; None if it is a long one, which the search did not return."""
    row, at = pool.origins[index]
    content = row["content"][at]
    if content is None:
        return None
    details = details_at(row, at)
    return MemoryRecord(
        memory_id=UUID(bytes=pool.keys[index]),
        version=details["version"],
        owner=pool.readable.owner,
        channel=row["channels"][at],
        process=row["process"][at],
        conversation=row["conversations"][at],
        position=row["positions"][at],
        role=row["roles"][at],
        name=row["names"][at],
        content=content,
        category=row["category"][at],
        tags=_texts(row["tags"][at]),
        metadata=details["metadata"],
        source=row["source"][at],
        provenance=details["provenance"],
        evidence=details["evidence"],
        confidence=_exact(row["confidences"][at]),
        anchored=bool(row["anchored"][at]),
        status=details["status"],
        superseded_by=_id(details["superseded_by"]),
        merged_into=_id(details["merged_into"]),
        at=row["at"][at],
        valid_from=details["valid_from"],
        valid_to=details["valid_to"],
        expires_at=details["expires_at"],
        deleted_at=None,
        created_at=row["created_at"][at],
        recorded_at=details["recorded_at"] or row["created_at"][at],
        changed_by=details["changed_by"],
        change_reason=details["change_reason"],
        whole_id=_id(row["whole_id"][at]),
        chunk_index=details["chunk_index"],
        chunk_count=details["chunk_count"],
        external_id=row["external_id"][at],
        usefulness=_exact(row["usefulnesses"][at]),
        salience=_exact(row["saliences"][at]),
        reinforcement_count=details["reinforcement_count"],
        retrieval_count=row["retrieval_count"][at],
        last_retrieved_at=row["last_retrieved_at"][at],
        last_injected_at=details["last_injected_at"],
        outdated_by=_outdated_by(pool, index),
    )


def _outdated_by(pool: CandidatePool, index: int) -> UUID | None:
    mark = pool.outdated.get(index)
    return None if mark is None else UUID(bytes=pool.keys[mark.newer])


@lru_cache(_CACHED_FLOATS)
def _exact(value: float) -> float:
    """A 4-byte float as it was stored: 0.3, not 0.30000001192092896. Most memories share a few values."""
    return float(str(np.float32(value)))


def _texts(written: str | None) -> tuple[str, ...]:
    return () if written is None else tuple(loads(written))


def _id(written: str | None) -> UUID | None:
    return None if written is None else UUID(written)
