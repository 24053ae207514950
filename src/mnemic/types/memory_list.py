"""Lists of memories: their orders, counts and facets."""

from dataclasses import dataclass
from typing import Literal, get_args

MemoryOrder = Literal["newest", "oldest", "happened", "salience"]
"""`newest` and `oldest` by when memories were stored; `happened`: latest first by when it happened, or was
stored if that is not known; `salience`: the most salient among the newest `SALIENT_MAX` that match."""
MEMORY_ORDERS: tuple[MemoryOrder, ...] = get_args(MemoryOrder)

COUNTED_MAX = 10_000
"""More memories are not counted, so that a count takes milliseconds."""
FACETED_MAX = 1_000
"""Facets count the newest memories that match, at most this many."""
SALIENT_MAX = 1_000
"""The order `salience` compares this many memories: salience changes with time, so no index has it."""
FACET_VALUES_MAX = 30
"""The most frequent values of each facet are returned."""


@dataclass(frozen=True, slots=True)
class MemoryCount:
    """How many memories match. If `is_exact` is false, there are at least `count`."""

    count: int
    is_exact: bool


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value of a field, and how many memories have it."""

    value: str
    count: int


@dataclass(frozen=True, slots=True)
class MemoryFacets:
    """The values that occur in memories that match, the most frequent first.

    They are counted over `memory_count` memories: all that match if `is_exact` is true, else the newest.
    """

    categories: tuple[FacetValue, ...]
    statuses: tuple[FacetValue, ...]
    sources: tuple[FacetValue, ...]
    tags: tuple[FacetValue, ...]
    roles: tuple[FacetValue, ...]
    names: tuple[FacetValue, ...]
    memory_count: int
    is_exact: bool
