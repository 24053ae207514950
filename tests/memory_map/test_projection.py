"""Reducing vectors to two dimensions, and naming the regions."""

import numpy as np

from mnemic.memory_map.projection import project
from mnemic.memory_map.regions import REGIONS_MAX, find_regions

RANDOM = np.random.default_rng(7)


def test_points_of_two_groups_are_apart_and_within_the_borders() -> None:
    middle = RANDOM.normal(size=64)
    groups = [RANDOM.normal(scale=0.05, size=(40, 64)) + sign * middle for sign in (1, -1)]
    points = project(np.concatenate(groups).astype(np.float32))
    assert points.shape == (80, 2)
    assert np.abs(points).max() <= 1
    left, right = points[:40, 0], points[40:, 0]
    assert left.min() > right.max() or right.min() > left.max()


def test_the_same_vectors_give_the_same_points() -> None:
    vectors = RANDOM.normal(size=(50, 16)).astype(np.float32)
    assert np.array_equal(project(vectors), project(vectors.copy()))


def test_few_or_equal_vectors_have_points_too() -> None:
    for vectors in (
        np.zeros((0, 8)),
        np.ones((1, 8)),
        np.ones((5, 8)),
        np.ones((3, 1)),
        np.eye(2),
        RANDOM.normal(size=(9, 1)),
    ):
        points = project(vectors.astype(np.float32))
        assert points.shape == (len(vectors), 2)
        assert np.isfinite(points).all()
        if len(vectors):
            regions, region_of = find_regions(points, ["the same words"] * len(vectors))
            assert len(region_of) == len(vectors)
            assert [region.words for region in regions] == [[] for _ in regions]


def test_regions_have_the_words_that_only_they_have() -> None:
    spots = np.array([[-0.8, 0.0], [0.8, 0.8], [0.8, -0.8]])
    points = np.concatenate([spot + RANDOM.normal(scale=0.02, size=(30, 2)) for spot in spots])
    subjects = ("the green tea of today", "the old chess club", "the sailing boat 2026")
    regions, region_of = find_regions(points, [subject for subject in subjects for _ in range(30)])
    assert len(set(region_of)) == len(regions) <= REGIONS_MAX
    named = {tuple(sorted(region.words)) for region in regions}
    assert named == {("green", "tea", "today"), ("chess", "club", "old"), ("boat", "sailing")}
    for region in regions:
        assert region_of[region.nearest] == region.region


def test_clusters_of_the_same_words_are_one_region() -> None:
    spots = np.array([[-0.9, -0.9], [-0.9, 0.9], [0.9, 0.0]])
    points = np.concatenate([spot + RANDOM.normal(scale=0.02, size=(40, 2)) for spot in spots])
    texts = ["green tea"] * 80 + ["old chess"] * 40
    regions, region_of = find_regions(points, texts)
    assert sorted(tuple(region.words) for region in regions) == [("chess", "old"), ("green", "tea")]
    assert sorted(np.bincount(region_of)) == [40, 80]
    for region in regions:
        assert region_of[region.nearest] == region.region


def test_there_are_never_more_regions_than_allowed() -> None:
    points = RANDOM.uniform(-1, 1, size=(3_000, 2))
    regions, region_of = find_regions(points, ["word"] * 3_000)
    assert len(regions) == REGIONS_MAX, "clusters without words are not merged"
    assert np.bincount(region_of).min() > 0
