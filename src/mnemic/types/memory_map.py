"""The map of an owner's memories; the tables are in `sql/migrations/0029_memory_map.sql`."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from mnemic.types.memory import Category

MAP_POINTS_MAX = 4_000
"""Memories that a map holds."""

MapJobState = Literal["waiting", "scheduled", "running"]


@dataclass(frozen=True, slots=True)
class MapPoint:
    """A memory on the map: its position, from -1 to 1 in both directions, and how its text begins."""

    memory_id: UUID
    x: float
    y: float
    region: int
    category: Category
    text: str


@dataclass(frozen=True, slots=True)
class MapRegion:
    """A part of the map: its middle, its number of memories, and words that are frequent only there."""

    region: int
    x: float
    y: float
    words: tuple[str, ...]
    memory_count: int


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """Memories of an owner in two dimensions, near each other if they mean similar things.

    `points` are the most salient ones that were asked for, `memory_count` how many the map holds; memories
    that were forgotten since it was made are in neither. `made_at` is None if there is no map yet.
    `is_current` is false if the embedding model was changed since. `job_state` is the state of the job that
    makes it again, None if there is none.
    """

    points: tuple[MapPoint, ...]
    regions: tuple[MapRegion, ...]
    memory_count: int
    categories: dict[str, int]
    made_at: datetime | None
    is_current: bool
    job_state: MapJobState | None
