"""Which terms of a query the lexical search looks for (mnemic.searched_terms)."""

import numpy as np
import pytest

from mnemic.recall.lexical_score import term_weights
from tests.conftest import AppConnection


def searched(
    superuser: AppConnection,
    counts: list[int | None] | None,
    memory_count: int,
    certainties: list[float] | None = None,
) -> tuple[list[str], list[int], list[float] | None]:
    """The tsqueries that are searched, the terms that each stands for, and their weights."""
    terms = [
        f"'{letter}'" for letter, _ in zip("abcdefgh", "abc" if counts is None else counts, strict=False)
    ]
    row = superuser.execute(
        "SELECT searched, term_bits, weights::float8[] FROM mnemic.searched_terms(%s, %s::int[], %s, %s)",
        (terms, counts, certainties or [1.0] * len(terms), memory_count),
    ).fetchone()
    assert row is not None
    return row  # type: ignore[return-value]


def test_without_counts_all_terms_are_searched_and_weighed_by_what_is_found(superuser: AppConnection) -> None:
    assert searched(superuser, None, 50) == (["'a'", "'b'", "'c'"], [1, 2, 4], None)


@pytest.mark.parametrize(
    ("counts", "memory_count", "terms", "bits"),
    [
        ([900, 50, 30], 5_000, ["'c'", "'b'", "'a'"], [4, 2, 1]),
        ([2_000, 600, 300], 5_000, ["'c'", "'b'"], [4, 2]),
        # A term without a count is rare, also where the others are enough.
        ([1_000, None], 5_000, ["'b'"], [2]),
        # The rarest term is searched even if it alone is more than enough.
        ([2_400, 2_300], 5_000, ["'b'"], [2]),
        # A tenth of the memories, up to 100,000 of them; a thousand of a million.
        ([9_000, 900], 100_000, ["'b'"], [2]),
        ([3_400, 3_400], 50_000, ["'a'"], [1]),
        ([900, 100], 1_000_000, ["'b'", "'a'"], [2, 1]),
        # Equally rare terms keep their order.
        ([5, 5], 5_000, ["'a'", "'b'"], [1, 2]),
        ([], 5_000, [], []),
    ],
)
def test_the_rarest_terms_are_searched_until_they_find_enough(
    superuser: AppConnection,
    counts: list[int | None],
    memory_count: int,
    terms: list[str],
    bits: list[int],
) -> None:
    assert searched(superuser, counts, memory_count)[:2] == (terms, bits)


@pytest.mark.parametrize(
    ("counts", "memory_count", "terms", "bits"),
    [
        ([4_000, 3_000], 5_000, ["'b' & 'a'"], [3]),
        ([90_000, 80_000, 300_000, 70_000, 60_000], 1_000_000, ["'e' & 'd' & 'b'"], [26]),
        # All of four terms would still match nearly every memory.
        ([4_900, 4_900], 5_000, [], []),
        ([990_000] * 6, 1_000_000, [], []),
    ],
)
def test_where_every_term_is_frequent_several_are_joined(
    superuser: AppConnection, counts: list[int | None], memory_count: int, terms: list[str], bits: list[int]
) -> None:
    assert searched(superuser, counts, memory_count)[:2] == (terms, bits)


def test_terms_weigh_as_in_the_ranking_and_less_if_they_were_corrected(superuser: AppConnection) -> None:
    *_, weights = searched(superuser, [40, 30], 5_000, [0.85, 1.0])
    expected = term_weights(np.array([30.0, 40.0]), 5_000) * [1.0, 0.85]
    assert weights == pytest.approx(expected.tolist(), rel=1e-6)


def test_joined_terms_weigh_what_they_weigh_together(superuser: AppConnection) -> None:
    *_, weights = searched(superuser, [4_000, 3_000], 5_000)
    assert weights == pytest.approx([term_weights(np.array([3_000.0, 4_000.0]), 5_000).sum()], rel=1e-6)
