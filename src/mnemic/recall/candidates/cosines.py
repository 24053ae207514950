"""Cosines between the query and memories, and their mean and standard deviation among an owner's memories."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.db.id_arrays import Key
from mnemic.db.vector_index import CosineStatistics
from mnemic.db.vectors import cosines_of
from mnemic.recall.query_embedding import VectorQuery

Floats = npt.NDArray[np.float64]

# Prior of the mean and the standard deviation, and the number of memories that it counts as.
PRIOR_MEAN = 0.12
PRIOR_DEVIATION = 0.11
PRIOR_MEMORIES = 20.0
DEVIATION_MIN = 0.001


async def stored_cosines(transaction: Transaction, query: VectorQuery, keys: set[Key]) -> dict[Key, float]:
    """The cosines of those of the memories that have a vector, computed by the database."""
    return await cosines_of(transaction, query.table, keys, query.vector) if keys else {}


def best_first(cosines: Mapping[Key, float], limit: int) -> list[Key]:
    """The memories with the highest cosines."""
    return sorted(cosines, key=lambda key: (-cosines[key], key))[:limit]


def semantic_cosines(row: Row | None) -> dict[Key, float]:
    """The cosines in a row of `recall.near`."""
    if row is None:
        return {}
    near = dict(zip(row["near_ids"], row["near_cosines"] or (), strict=False))
    return near | dict(zip(row["other_ids"] or (), row["other_cosines"] or (), strict=True))


def smoothed_statistics(statistics: CosineStatistics | None) -> tuple[float, float]:
    """Mean and standard deviation of the owner's cosines, shrunk towards the prior when few are known."""
    if statistics is None:
        return PRIOR_MEAN, PRIOR_DEVIATION
    share = PRIOR_MEMORIES / (PRIOR_MEMORIES + statistics.count)
    mean = (1 - share) * statistics.mean + share * PRIOR_MEAN
    variance = (1 - share) * statistics.deviation**2 + share * PRIOR_DEVIATION**2
    return mean, max(float(np.sqrt(variance)), DEVIATION_MIN)


def aligned_cosines(keys: Sequence[Key], cosines: Mapping[Key, float]) -> Floats:
    """The cosine of each memory; NaN for a memory without a vector."""
    return np.array([cosines.get(key, np.nan) for key in keys], float)
