"""Vectors reduced to two dimensions by principal component analysis, the same for the same vectors."""

import numpy as np
import numpy.typing as npt

# The share of memories within the borders of the map; those further out are put on the border.
WITHIN = 0.98

Points = npt.NDArray[np.float64]


def project(vectors: npt.NDArray[np.float32]) -> Points:
    """A point for each vector, between -1 and 1: its share in the two directions of the largest variance."""
    if len(vectors) == 0:
        return np.zeros((0, 2))
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    points = centred @ _main_directions(centred)
    size = np.quantile(np.abs(points), WITHIN, axis=0)
    return np.asarray(np.clip(points / np.where(size > 0, size, 1.0), -1.0, 1.0))


def _main_directions(centred: Points) -> Points:
    """The two directions in which the vectors differ most; their signs are chosen, as they mean nothing."""
    _, found = np.linalg.eigh(centred.T @ centred)
    directions = np.zeros((centred.shape[1], 2))
    largest = found[:, ::-1][:, :2]
    directions[:, : largest.shape[1]] = largest
    strongest = np.abs(directions).argmax(axis=0)
    signs = np.sign(directions[strongest, np.arange(2)])
    return np.asarray(directions * np.where(signs == 0, 1.0, signs))
