"""What counts as found, worked out by hand."""

import pytest

from bench.datasets import Question
from bench.quality_metrics import Answered, all_at, any_at, averages, first_appearances, fraction_at

EVIDENCE = frozenset({"a", "b", "c", "d"})


def answered(category: str, evidence: set[str], *ranked: str) -> Answered:
    return Answered(Question("?", category, frozenset(evidence), None), ranked)


def test_a_fraction_counts_the_evidence_among_the_first_k() -> None:
    ranked = ("a", "x", "b", "y", "c", "d")
    assert fraction_at(1)(EVIDENCE, ranked) == 0.25
    assert fraction_at(5)(EVIDENCE, ranked) == 0.75
    assert fraction_at(50)(EVIDENCE, ranked) == 1.0


def test_any_needs_one_and_all_needs_everything() -> None:
    ranked = ("x", "a", "b", "c", "d")
    assert [any_at(k)(EVIDENCE, ranked) for k in (1, 2)] == [0.0, 1.0]
    assert [all_at(k)(EVIDENCE, ranked) for k in (4, 5)] == [0.0, 1.0]


def test_an_id_stands_where_it_first_appears() -> None:
    assert first_appearances(["b", "a", "b", "c", "a"]) == ("b", "a", "c")


def test_averages_are_over_questions_all_together_and_by_category() -> None:
    found = averages(
        [answered("x", {"a"}, "a"), answered("x", {"a", "b"}, "a"), answered("y", {"a"}, "b")], "turn"
    )
    assert [(each.category, each.question_count) for each in found] == [("all", 3), ("x", 2), ("y", 1)]
    assert [each.values["R@5"] for each in found] == pytest.approx([0.5, 0.75, 0.0])


def test_the_categories_that_the_paper_averages_are_averaged_as_well() -> None:
    kinds = ("multi-hop", "temporal", "open-domain", "single-hop", "adversarial")
    found = averages([answered(kind, {"a"}, "b" if kind == "adversarial" else "a") for kind in kinds], "turn")
    assert {each.category: each.values["R@5"] for each in found}["all but adversarial"] == 1.0
    assert found[0].values["R@5"] == pytest.approx(0.8)
