"""Candidates by vector among the memories that pass a filter, where the filter leaves few of them.

The semantic search compares all vectors of an owner, then drops the memories that do not pass the filter. If
a filter leaves few memories, hardly any of the nearest pass it. Then recall reads the memories that pass
first, and compares exactly those.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mnemic.db.database import TenantDatabase
from mnemic.db.id_arrays import Key
from mnemic.db.vector_index import CosineStatistics
from mnemic.recall.candidates.cosines import best_first, stored_cosines
from mnemic.recall.candidates.limits import candidate_limit
from mnemic.recall.query_embedding import VectorQuery
from mnemic.recall.readable_owners import ReadableOwner
from mnemic.recall.request import Request
from mnemic.recall.stage_timer import StageTimer

FILTERED_MAX = 2_000
"""A filter that more memories pass is not searched first."""


@dataclass(frozen=True)
class FilteredMatches:
    """The nearest memories that pass the filter, best first, and the cosine statistics of all that pass."""

    keys: Sequence[Key]
    statistics: CosineStatistics


async def search_filtered(
    database: TenantDatabase,
    query: VectorQuery,
    readable: ReadableOwner,
    request: Request,
    timer: StageTimer,
) -> FilteredMatches | None:
    """Compare the memories that pass the filter; None if there are more than `FILTERED_MAX`."""
    parameters = {**readable.parameters(request), "limit": FILTERED_MAX + 1}
    with timer.measure("vector"):
        async with database.transaction() as transaction:
            rows = await transaction.rows("recall.find_filtered", parameters)
            if len(rows) > FILTERED_MAX:
                return None
            cosines = await stored_cosines(transaction, query, {row["memory_id"].bytes for row in rows})
    statistics = CosineStatistics.of(list(cosines.values())) if cosines else CosineStatistics(0.0, 0.0, 0)
    return FilteredMatches(best_first(cosines, candidate_limit(request)), statistics)
