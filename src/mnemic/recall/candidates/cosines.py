"""Cosines between the query and memories, and their mean and standard deviation among an owner's memories."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.db.id_arrays import Key
from mnemic.db.vector_index import CosineStatistics
from mnemic.db.vectors import ModelChanged, Vectors, cosines_of
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


def lexical_cosines(row: Row | None, query: VectorQuery | None) -> dict[Key, float]:
    """Cosines from the vectors in a row of `recall.words`, which ran before the query's vector was known.

    Raises ModelChanged if they are of another model than the query's.
    """
    if row is None or query is None or row["vectors"] is None:
        return {}
    _check_model(row, query)
    keys = [row["memory_ids"][place - 1] for place in row["vector_places"]]
    return dict(zip(keys, _cosines(row["vectors"], query).tolist(), strict=True))


def sample_statistics(row: Row | None, query: VectorQuery | None) -> CosineStatistics | None:
    """Statistics from the sample of the owner's vectors in a row of `recall.words`; None without a sample."""
    if row is None or query is None or row["sample_vectors"] is None:
        return None
    _check_model(row, query)
    return CosineStatistics.of(_cosines(row["sample_vectors"], query).tolist())


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


def _check_model(row: Row, query: VectorQuery) -> None:
    """Raise ModelChanged if the vectors in a row of `recall.words` are of another model than the query's."""
    if row["vector_model"] != query.table.model:
        raise ModelChanged(row["vector_model"])


def _cosines(vectors: Vectors, query: VectorQuery) -> Floats:
    """Cosines as the database computes them: with the query in half precision, like stored vectors."""
    rounded = query.vector.astype(np.float16).astype(np.float32)
    norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(rounded)
    cosines: Floats = (vectors @ rounded) / np.maximum(norms, np.finfo(np.float32).tiny)
    return cosines
