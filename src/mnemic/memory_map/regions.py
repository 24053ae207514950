"""Regions of a map: clusters of its points, described by words that are frequent inside and rare outside.

No model is needed: a word that is frequent everywhere describes nothing, nor does a function word. Everything
is the same for the same points and texts.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mnemic.memory_map.projection import Points
from mnemic.text_analysis.languages import is_function_word
from mnemic.text_analysis.name_matching import split_words

REGIONS_MAX = 12
# Fewer memories are one region without words.
SPLIT_MIN = 8
ROUNDS = 25
WORDS_MAX = 3
WORD_MIN_CHARACTERS = 3
WORD_MAX_CHARACTERS = 24
# A word describes a region if at least so many of its memories, and such a share of them, contain it …
WORD_MEMORIES_MIN = 2
WORD_SHARE_MIN = 0.05
# … and it is so many times as frequent there as elsewhere.
WORD_LIFT_MIN = 1.5


@dataclass(frozen=True)
class Region:
    """A cluster: its middle, the index of the point next to it, and its words."""

    region: int
    x: float
    y: float
    nearest: int
    words: list[str]


def find_regions(points: Points, texts: Sequence[str]) -> tuple[list[Region], npt.NDArray[np.intp]]:
    """The regions, and the region of each point."""
    middles, region_of = _clusters(points)
    words, region_of = _merge(
        _describe([_words_of(text) for text in texts], region_of, len(middles)), region_of
    )
    regions = []
    for region, described in enumerate(words):
        inside = np.flatnonzero(region_of == region)
        middle = points[inside].mean(axis=0)
        nearest = int(inside[np.square(points[inside] - middle).sum(axis=1).argmin()])
        regions.append(Region(region, float(middle[0]), float(middle[1]), nearest, described))
    return regions, region_of


def _merge(
    words: Sequence[list[str]], region_of: npt.NDArray[np.intp]
) -> tuple[list[list[str]], npt.NDArray[np.intp]]:
    """The words of regions and the region of each point, where clusters of the same words are one region."""
    kept: dict[object, int] = {}
    # Clusters without words are not the same because of that.
    keys: list[object] = [frozenset(each) or cluster for cluster, each in enumerate(words)]
    new = np.array([kept.setdefault(key, len(kept)) for key in keys], dtype=np.intp)
    first = [keys.index(key) for key in kept]
    return [words[cluster] for cluster in first], new[region_of]


def _clusters(points: Points) -> tuple[Points, npt.NDArray[np.intp]]:
    """K-means. It starts from points far from each other, so that nothing is left to chance."""
    count = min(REGIONS_MAX, max(2, round(math.sqrt(len(points)) / 2))) if len(points) >= SPLIT_MIN else 1
    middles = _far_apart(points, count)
    for _ in range(ROUNDS):
        region_of = _distances(points, middles).argmin(axis=1)
        # Empty clusters are dropped, when several points are the same.
        kept = np.unique(region_of)
        moved = np.stack([points[region_of == region].mean(axis=0) for region in kept])
        if moved.shape == middles.shape and np.allclose(moved, middles):
            break
        middles = moved
    return middles, _distances(points, middles).argmin(axis=1)


def _far_apart(points: Points, count: int) -> Points:
    """The point next to the middle, then each time the point farthest from those before."""
    chosen = [int(np.square(points - points.mean(axis=0)).sum(axis=1).argmin())]
    while len(chosen) < count:
        chosen.append(int(_distances(points, points[chosen]).min(axis=1).argmax()))
    return points[chosen]


def _distances(points: Points, middles: Points) -> npt.NDArray[np.float64]:
    """Squared distances of every point to every middle."""
    return np.asarray(np.square(points[:, None, :] - middles[None, :, :]).sum(axis=2))


def _words_of(text: str) -> set[str]:
    words = {word.lower() for word in split_words(text)}
    return {
        word
        for word in words
        if WORD_MIN_CHARACTERS <= len(word) <= WORD_MAX_CHARACTERS
        and not word.isnumeric()
        and not is_function_word(word)
    }


def _describe(texts: Sequence[set[str]], region_of: npt.NDArray[np.intp], count: int) -> list[list[str]]:
    """The words of each region: those that tell the most about whether a memory is in it."""
    everywhere = Counter(word for words in texts for word in words)
    inside: list[Counter[str]] = [Counter() for _ in range(count)]
    for words, region in zip(texts, region_of, strict=True):
        inside[int(region)].update(words)
    sizes = np.bincount(region_of, minlength=count)
    return [
        _best(inside[region], everywhere, int(sizes[region]), len(texts)) if count > 1 else []
        for region in range(count)
    ]


def _best(inside: Counter[str], everywhere: Counter[str], size: int, total: int) -> list[str]:
    least = max(WORD_MEMORIES_MIN, WORD_SHARE_MIN * size)
    scored = []
    for word, found in inside.items():
        here = found / size
        # One memory more elsewhere, so that a word that is only here does not count as infinitely rare.
        elsewhere = (everywhere[word] - found + 1) / (total - size + 1)
        if found >= least and here >= WORD_LIFT_MIN * elsewhere:
            scored.append((-here * math.log(here / elsewhere), -len(word), word))
    return [word for *_, word in sorted(scored)[:WORDS_MAX]]
