"""Read the map of an owner, and ask for a new one."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.jobs.queue import enqueue
from mnemic.memory_map.making import READ_MAX_CHARACTERS
from mnemic.types.checks import check_whole
from mnemic.types.memory_map import MAP_POINTS_MAX, MapPoint, MapRegion, MemoryMap
from mnemic.types.scope import Scope

MAP_JOB = "memories.map"
TEXT_MAX_CHARACTERS = 80
"""Characters of a memory that a point shows."""
REGION_MAX = 1_000


async def read_map(
    database: TenantDatabase,
    scope: Scope,
    *,
    categories: Sequence[str] | None,
    region: int | None,
    limit: int,
) -> MemoryMap:
    """The map as it is stored, without memories that were forgotten since."""
    wanted = {
        "owner": scope.require_owner(),
        "categories": categories,
        "region": check_whole("region", region, 0, REGION_MAX) if region is not None else None,
        "limit": check_whole("limit", limit, 1, MAP_POINTS_MAX),
        "text_max": TEXT_MAX_CHARACTERS,
        "read_max": READ_MAX_CHARACTERS,
        "type": MAP_JOB,
    }
    async with database.transaction(snapshot=True) as transaction:
        return await _read(transaction, wanted)


async def request_map(database: TenantDatabase, scope: Scope) -> MemoryMap:
    """Enqueue the job that makes the map of the owner, unless one is waiting; returns the present map."""
    owner = scope.require_owner()
    async with database.transaction() as transaction:
        state = await transaction.one("memory_map.state", {"owner": owner, "type": MAP_JOB})
        if state["job_state"] not in ("waiting", "scheduled"):
            await enqueue(transaction, MAP_JOB, owner=owner)
    return await read_map(database, scope, categories=None, region=None, limit=1)


async def _read(transaction: Transaction, wanted: dict[str, Any]) -> MemoryMap:
    state = await transaction.one("memory_map.state", wanted)
    points, counts, regions = [
        await transaction.rows(f"memory_map.{name}", wanted) if state["made_at"] is not None else []
        for name in ("points", "counts", "regions")
    ]
    in_region, in_category = Counter[int](), Counter[str]()
    for row in counts:
        in_region[row["region"]] += row["memory_count"]
        in_category[row["category"]] += row["memory_count"]
    return MemoryMap(
        points=tuple(MapPoint(**row) for row in points),
        regions=tuple(_region(row, in_region[row["region"]]) for row in regions if in_region[row["region"]]),
        memory_count=in_region.total(),
        categories=dict(sorted(in_category.items())),
        made_at=state["made_at"],
        is_current=state["made_at"] is not None and state["model"] == state["serving_model"],
        job_state=state["job_state"],
    )


def _region(row: Row, memory_count: int) -> MapRegion:
    return MapRegion(row["region"], row["x"], row["y"], tuple(row["words"]), memory_count)
