"""Positions for the nodes of a graph, by numpy; the same graph always has the same positions.

Stress majorisation: the distance of two nodes in the picture approaches the number of relations between them
(Gansner, Koren and North, "Graph Drawing by Stress Majorization", 2004). Afterwards, labels that cover each
other push each other away.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

ROUNDS = 32
# How far apart nodes are that no path connects: a part of the longest path, and at least so many relations.
APART, APART_MIN = 0.6, 2.0
STEPS_MAX = 6
GOLDEN_ANGLE = 2.399963
PUSH_ROUNDS = 40
# The part of an overlap by which two labels move in one round.
PUSH = 0.35
LABEL_GAP = 6.0
# The length of the line of a relation, in a graph with room for it.
LINE_MAX = 150.0

Points = npt.NDArray[np.float32]


def place_nodes(
    count: int,
    edges: Sequence[tuple[int, int]],
    *,
    width: float,
    height: float,
    margin: tuple[float, float],
    label_widths: Sequence[float],
    label_height: float,
) -> Points:
    """A point for each node within the box; `margin` is left free at its sides, and above and below."""
    low, high = np.array(margin, np.float32), np.array([width, height], np.float32) - np.array(margin)
    if count < 2:
        return np.tile((low + high) / 2, (count, 1)).astype(np.float32)
    found = _majorise(_path_lengths(count, edges))
    points = _fitted(_laid_flat(found), low, high)
    sizes = np.stack([np.asarray(label_widths, np.float32), np.full(count, label_height, np.float32)], axis=1)
    return np.asarray(push_apart(points, sizes, low, high), dtype=np.float32)


def _path_lengths(count: int, edges: Sequence[tuple[int, int]]) -> npt.NDArray[np.float32]:
    """The number of relations on the shortest path between every two nodes."""
    ends = np.asarray(edges, dtype=np.intp).reshape(-1, 2)
    joined = np.eye(count, dtype=np.float32)
    joined[ends[:, 0], ends[:, 1]] = joined[ends[:, 1], ends[:, 0]] = 1
    lengths = np.full((count, count), np.inf, dtype=np.float32)
    reached = np.eye(count, dtype=np.float32)
    for step in range(STEPS_MAX + 1):
        lengths[(reached > 0) & np.isinf(lengths)] = step
        reached = np.minimum(reached @ joined, 1)
    far = max(APART_MIN, APART * float(lengths[np.isfinite(lengths)].max()))
    return np.where(np.isinf(lengths), np.float32(far), lengths)


def _majorise(lengths: npt.NDArray[np.float32]) -> npt.NDArray[np.complex64]:
    """Points whose distances are near the lengths. It begins with a spiral, so nothing is left to chance."""
    count = len(lengths)
    turn = np.arange(count)
    points: npt.NDArray[np.complex64] = (np.sqrt(turn + 0.5) * np.exp(1j * GOLDEN_ANGLE * turn)).astype(
        np.complex64
    )
    weights = 1 / np.square(np.where(lengths > 0, lengths, np.inf))
    pulls = (weights * lengths).astype(np.float32)
    totals = weights.sum(axis=1)
    for _ in range(ROUNDS):
        apart = points[:, None] - points[None, :]
        apart *= pulls / np.maximum(np.abs(apart), np.float32(1e-4))
        points = ((weights @ points + apart.sum(axis=1)) / totals).astype(np.complex64)
    return np.asarray(points)


def _laid_flat(found: npt.NDArray[np.complex64]) -> Points:
    """The points, turned so that they extend sideways more than up and down."""
    centred = found - found.mean()
    turned = centred * np.exp(-0.5j * np.angle(np.square(centred).sum()))
    return np.stack([turned.real, turned.imag], axis=1)


def _fitted(points: Points, low: Points, high: Points) -> Points:
    """The points in the middle of the box; a small graph does not fill it, since its lines would be long."""
    least, most = points.min(axis=0), points.max(axis=0)
    scale = np.minimum((high - low) / np.maximum(most - least, 1e-6), LINE_MAX)
    return np.asarray((low + high) / 2 + (points - (least + most) / 2) * scale)


def push_apart(points: Points, sizes: Points, low: Points, high: Points) -> Points:
    """The points within the box, moved along the shorter way until hardly a label covers another."""
    count = len(points)
    wide, tall = ((side[:, None] + side[None, :]) / 2 + LABEL_GAP for side in sizes.T.astype(np.float32))
    np.fill_diagonal(wide, -1)
    # Nodes at the same place move in different directions: a node away from those that come after it.
    order = np.arange(count, dtype=np.float32) * np.float32(1e-4)
    x, y = np.clip(points, low, high).T.astype(np.float32) + order
    for _ in range(PUSH_ROUNDS):
        across, down = x[:, None] - x[None, :], y[:, None] - y[None, :]
        over_x, over_y = wide - np.abs(across), tall - np.abs(down)
        covered = np.nonzero((over_x > 0) & (over_y > 0))
        if not len(covered[0]):
            break
        far_x, far_y = over_x[covered], over_y[covered]
        move_x = np.where(far_x < far_y, PUSH * np.copysign(far_x, across[covered]), 0)
        move_y = np.where(far_x < far_y, 0, PUSH * np.copysign(far_y, down[covered]))
        x = np.clip(x + np.bincount(covered[0], move_x, count), low[0], high[0]).astype(np.float32)
        y = np.clip(y + np.bincount(covered[0], move_y, count), low[1], high[1]).astype(np.float32)
    return np.stack([x, y], axis=1)
