"""The area under the ROC curve, and whose questions are asked of whom."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.datasets import Dataset, Owner, Question, Turn, Unit
from bench.refusal import Verdict, area_under_curve, measure_refusal

Shares = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=20)


@given(high=Shares, low=Shares)
def test_the_area_is_the_share_of_pairs_in_the_right_order(high: list[float], low: list[float]) -> None:
    pairs = [1.0 if mine > other else 0.5 if mine == other else 0.0 for mine, other in product(high, low)]
    assert area_under_curve(high, low) == pytest.approx(sum(pairs) / len(pairs))


def _owner(name: str) -> Owner:
    own = Question(f"own of {name}", "x", frozenset({"1"}), None)
    near = Question(f"near {name}", "x", frozenset(), None)
    return Owner(name, (), (own, near))


async def test_everybody_is_asked_their_own_the_others_and_the_unanswerable() -> None:
    asked: list[tuple[str, str]] = []

    async def judge(owner: Owner, question: Question) -> Verdict:
        asked.append((owner.name, question.text))
        is_own = question.text == f"own of {owner.name}"
        return Verdict(confidence=0.9 if is_own else 0.1, refused=not is_own, is_answered=is_own)

    found = await measure_refusal(Dataset("tiny", "turn", (_owner("a"), _owner("b"))), judge)
    assert sorted(asked) == [
        ("a", "near a"),
        ("a", "own of a"),
        ("a", "own of b"),
        ("b", "near b"),
        ("b", "own of a"),
        ("b", "own of b"),
    ]
    assert (found.own_count, found.foreign_count, found.unanswerable_count) == (2, 2, 2)
    assert (found.own_refused, found.foreign_refused, found.unanswerable_refused) == (0.0, 1.0, 1.0)
    assert (found.area, found.unanswerable_area) == (1.0, 1.0)
    assert found.calibration.balanced == pytest.approx(0.1)
    assert found.calibration.as_asked == pytest.approx(0.1)


async def test_a_set_without_unanswerable_questions_says_nothing_about_them() -> None:
    owners = tuple(Owner(each.name, (), each.answerable) for each in (_owner("a"), _owner("b")))

    async def judge(owner: Owner, question: Question) -> Verdict:
        return Verdict(confidence=0.5, refused=False, is_answered=False)

    found = await measure_refusal(Dataset("tiny", "turn", owners), judge)
    assert found.unanswerable_area is None
    assert found.area == 0.5


@pytest.mark.parametrize(("unit", "count"), [("turn", 1), ("conversation", 0)])
async def test_a_foreign_question_has_shared_evidence_if_the_other_owner_has_all_of_a_unit(
    unit: Unit, count: int
) -> None:
    """`b` has one of the two turns of the chat that answers the question of `a`."""
    chat = (Turn("1", "My dog is a beagle.", "chat"), Turn("2", "Nice!", "chat"))
    evidence = "1" if unit == "turn" else "chat"
    question = Question("Which breed?", "x", frozenset({evidence}), None)
    other = Question("Which cat?", "x", frozenset({"another" if unit == "conversation" else "9"}), None)
    owners = (
        Owner("a", chat, (question,)),
        Owner("b", (chat[0], Turn("9", "A cat.", "another")), (other,)),
    )

    async def judge(owner: Owner, question: Question) -> Verdict:
        is_refused = owner.name == "a"
        return Verdict(confidence=0.1 if is_refused else 0.9, refused=is_refused, is_answered=False)

    found = await measure_refusal(Dataset("tiny", unit, owners), judge)
    assert (found.foreign_count, found.shared_evidence_count) == (2, count)
    assert found.foreign_refused == 0.5
    assert found.foreign_refused_without_shared == (1.0 if count else 0.5)
