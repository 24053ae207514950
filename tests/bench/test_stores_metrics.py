"""What counts as a hit in a store, worked out by hand."""

import pytest

from bench.stores_data import StoreQuestion
from bench.stores_metrics import Asked, hits_at, is_answered, kind_results, store_calibration


def question(kind: str, *gold: str, stale: str = "") -> StoreQuestion:
    return StoreQuestion("?", kind, frozenset(gold), frozenset(stale))


def test_a_hit_is_a_right_memory_among_the_first() -> None:
    assert hits_at(question("direct", "a", "b"), "xxbxa") == [0, 1, 1, 1]
    assert hits_at(question("direct", "a"), "xyz") == [0, 0, 0, 0]


def test_below_an_outdated_memory_nothing_counts() -> None:
    update = question("update", "a", stale="o")
    assert hits_at(update, "ao") == [1, 1, 1, 1]
    assert hits_at(update, "oa") == [0, 0, 0, 0]
    # The answer is among the hits nevertheless: that is what confidence is about.
    assert is_answered(update, "oa")


def test_a_join_needs_two_and_an_overview_counts_the_share() -> None:
    assert hits_at(question("join", "a", "b", "c"), "axxb") == [0, 0, 1, 1]
    assert hits_at(question("join", "a"), "a") == [1, 1, 1, 1]
    assert hits_at(question("overview", "a", "b", "c", "d"), "axbxc") == [1, 2 / 3, 3 / 4, 3 / 4]


def test_only_what_holds_all_needed_parts_is_answered() -> None:
    assert not is_answered(question("join", "a", "b"), "axx")
    assert is_answered(question("overview", "a", "b"), "axx")
    assert not is_answered(question("foreign"), "abc")


def test_results_come_for_everything_answerable_and_by_kind() -> None:
    asked = [
        Asked(question("direct", "a"), 0.9, False, "found", ranked={"Mnemic": ["a"], "BM25": ["x"]}),
        Asked(question("time", "a"), 0.3, True, "refused", ranked={"Mnemic": ["x"], "BM25": ["x"]}),
        Asked(question("foreign"), 0.1, True, "refused", True),
        Asked(question("near"), 0.7, False, "weak"),
    ]
    everything, direct, time, foreign, near = kind_results(asked)
    assert [each.kind for each in (everything, direct, time, foreign, near)] == [
        *("all", "direct", "time", "foreign", "near")
    ]
    assert everything.hits == {"Mnemic": [0.5] * 4, "BM25": [0.0] * 4}
    assert (everything.refused, everything.question_count) == (0.5, 2)
    assert everything.outcomes == {"found": 0.5, "weak": 0.0, "refused": 0.5}
    assert (foreign.hits, foreign.strict_refused) == ({}, 1.0)
    # Near misses do not count: |0.9 - 1|, |0.3 - 0| and |0.1 - 0|.
    errors = store_calibration(asked, "Mnemic")
    assert errors.as_asked == pytest.approx((0.1 + 0.3 + 0.1) / 3)
    # The foreign question weighs as much as the two answerable ones.
    assert errors.balanced == pytest.approx((0.1 + 0.3 + 2 * 0.1) / 4)
