"""Make the map of an owner: choose memories, reduce their vectors, find regions, store all of it.

Vectors and texts are read in one short transaction, and the computation holds no connection. Storing replaces
the earlier map in one transaction. Memories that were deleted meanwhile are left out.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import numpy.typing as npt

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.vectors import Vectors, vectors_in_use, vectors_of
from mnemic.memory_map.projection import Points, project
from mnemic.memory_map.regions import Region, find_regions
from mnemic.types.memory_map import MAP_POINTS_MAX

# Half of a map are the newest memories, the other half the most salient of the others.
NEWEST_MAX = MAP_POINTS_MAX // 2
# Characters of each text that are searched for the words of a region.
READ_MAX_CHARACTERS = 400


@dataclass(frozen=True)
class MapInput:
    """What a map is computed from: memories in the order of salience, their texts and vectors."""

    model: str
    ids: list[UUID]
    texts: list[str]
    vectors: Vectors


@dataclass(frozen=True)
class ComputedMap:
    """A map that is not stored yet."""

    points: Points
    regions: list[Region]
    region_of: npt.NDArray[np.intp]


async def make_map(database: TenantDatabase, owner: str, *, only_if_outdated: bool = False) -> int | None:
    """Make the map again; returns how many memories it holds, or None if the present one is still good."""
    map_input = await _collect(database, owner, only_if_outdated=only_if_outdated)
    if map_input is None:
        return None
    # Numpy works for a tenth of a second and more, which would delay all other tasks of the process.
    computed = await asyncio.to_thread(_compute, map_input) if map_input.ids else None

    async def store(transaction: Transaction) -> int:
        await transaction.execute("memory_map.delete_positions", {"owner": owner})
        await transaction.execute("memory_map.delete_regions", {"owner": owner})
        return await _store(transaction, owner, map_input, computed) if computed is not None else 0

    return await database.run(store)


async def _collect(database: TenantDatabase, owner: str, *, only_if_outdated: bool) -> MapInput | None:
    async with database.transaction() as transaction:
        await transaction.extend_timeout()
        table = await vectors_in_use(transaction)
        if table is None:
            return None
        present = {"owner": owner, "model": table.model}
        if only_if_outdated and (await transaction.one("memory_map.is_current", present))["is_current"]:
            return None
        wanted = {
            "owner": owner,
            "newest_max": NEWEST_MAX,
            "salient_max": MAP_POINTS_MAX - NEWEST_MAX,
            "read_max": READ_MAX_CHARACTERS,
        }
        rows = await transaction.rows("memory_map.chosen", wanted)
        ids, vectors = await vectors_of(transaction, table, [row["memory_id"] for row in rows])
    texts = {row["memory_id"]: row["content"] for row in rows}
    return MapInput(table.model, ids, [texts[memory_id] for memory_id in ids], vectors)


def _compute(map_input: MapInput) -> ComputedMap:
    points = project(map_input.vectors)
    return ComputedMap(points, *find_regions(points, map_input.texts))


async def _store(transaction: Transaction, owner: str, map_input: MapInput, computed: ComputedMap) -> int:
    key = {"tenant_id": transaction.tenant.id, "owner": owner}
    # Erasure waits until this transaction ends, and then deletes these rows together with the memories.
    await transaction.rows("memory_map.hold", {**key, "memory_ids": map_input.ids})
    positions = {
        **key,
        "model": map_input.model,
        "memory_ids": map_input.ids,
        "x": computed.points[:, 0].tolist(),
        "y": computed.points[:, 1].tolist(),
        "regions": computed.region_of.tolist(),
    }
    count = await transaction.execute("memory_map.add_positions", positions)
    await transaction.execute_many(
        "memory_map.add_region", [_region_row(key, map_input.ids, region) for region in computed.regions]
    )
    return count


def _region_row(key: dict[str, object], ids: Sequence[UUID], region: Region) -> dict[str, object]:
    return {
        **key,
        "region": region.region,
        "x": region.x,
        "y": region.y,
        "words": region.words,
        "memory_id": ids[region.nearest],
    }
