"""The rankings that recall is compared with, on texts small enough to check by hand."""

import math

import numpy as np
import pytest

from bench.datasets import Owner, Question, Turn
from bench.quality_baselines import BM25, Stems, rank, reciprocal_ranks, standardised
from mnemic.models.testing import HashedWords

TURNS = (
    Turn("1", "I walked the dogs.", "s1", name="Ada", time_text="8 May"),
    Turn("2", "Rain again.", "s1", name="Bo", time_text="8 May"),
    Turn("3", "Dogs dogs dogs, all walking!", "s2", name="Ada", time_text="9 May"),
)
QUESTION = Question("Who walks a dog?", "x", frozenset({"3"}), None)
OWNER = Owner("o", TURNS, (QUESTION,))


def test_stems_are_english_and_stop_words_are_left_out(empty_conninfo: str) -> None:
    stems = Stems.read(empty_conninfo, ["Who walks the dogs, walking?", "About 2023"])
    assert stems.of("who WALKS the dogs, walking?") == ["walk", "dog", "walk"]
    assert stems.of("about 2023") == ["about", "2023"]


def test_bm25_is_the_formula_of_okapi() -> None:
    index = BM25([["dog", "dog", "cat"], ["cat"], ["bird", "bird"]])
    idf = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    expected = idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2))
    assert index.scores(["dog", "dog", "fish"]).tolist() == pytest.approx([expected, 0.0, 0.0])


def test_fused_ranks_prefer_what_both_lists_have_high() -> None:
    fused = reciprocal_ranks(np.array([3.0, 2.0, 1.0]), np.array([2.0, 3.0, 1.0]))
    assert fused.tolist() == pytest.approx([1 / 61 + 1 / 62, 1 / 61 + 1 / 62, 2 / 63])


def test_scores_that_are_all_the_same_say_nothing() -> None:
    assert standardised(np.array([2.0, 2.0])).tolist() == [0.0, 0.0]
    assert standardised(np.array([1.0, 3.0])).tolist() == [-1.0, 1.0]


async def test_turns_are_ranked_by_every_way(empty_conninfo: str) -> None:
    stems = Stems.read(empty_conninfo, [*(turn.dated for turn in TURNS), QUESTION.text])
    found = await rank(OWNER, "turn", stems, HashedWords())
    assert list(found) == ["BM25", "dense", "rank fusion", "score sum"]
    assert found["BM25"][0].ranked == ("3", "1", "2")
    assert all(set(answers[0].ranked) == {"1", "2", "3"} for answers in found.values())


async def test_conversations_stand_where_their_first_turn_does(empty_conninfo: str) -> None:
    stems = Stems.read(empty_conninfo, [*(turn.dated for turn in TURNS), QUESTION.text])
    found = await rank(OWNER, "conversation", stems, HashedWords())
    assert found["BM25"][0].ranked == ("s2", "s1")
    assert found["BM25, whole conversations"][0].ranked == ("s2", "s1")
