"""Turn what an embedding model returned into an array of real numbers, or say what is wrong with it.

Only arrays, lists and tuples are accepted. Any other object could be a generator that never ends, or run its
own code while it is converted.
"""

import numpy as np

from mnemic.models.engine import FloatArray
from mnemic.models.model_calls import UnusableResult, kind_of

DIMENSIONS_MAX = 4_000
"""The limit of a `halfvec` index. The database has the same limit (`mnemic.vector_models`)."""


def as_vectors(result: object, count: int) -> FloatArray:
    """One row of real numbers for each of `count` texts. Raises UnusableResult."""
    if isinstance(result, list | tuple):
        _check_rows(result, count)
    elif not isinstance(result, np.ndarray):
        raise UnusableResult(f"{kind_of(result)} instead of an array of vectors")
    try:
        vectors: FloatArray = np.asarray(result)
    except Exception as error:
        # Rows of different lengths, or elements whose conversion fails with anything.
        raise UnusableResult("rows that do not form an array") from error
    if vectors.dtype.kind not in "fiu":
        raise UnusableResult(f"an array of {vectors.dtype} instead of real numbers")
    if vectors.ndim != 2 or len(vectors) != count:
        raise UnusableResult(f"an array of shape {vectors.shape} for {count} texts")
    if vectors.shape[1] > DIMENSIONS_MAX:
        raise UnusableResult(f"vectors of {vectors.shape[1]} dimensions; the limit is {DIMENSIONS_MAX}")
    return vectors


def _check_rows(rows: list[object] | tuple[object, ...], count: int) -> None:
    if len(rows) != count:
        raise UnusableResult(f"{len(rows)} vectors for {count} texts")
    for row in rows:
        if not isinstance(row, np.ndarray | list | tuple):
            raise UnusableResult(f"{kind_of(row)} instead of a vector")
