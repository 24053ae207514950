"""Made-up stores and questions: the same for the same seed, and shaped like real ones."""

from collections import Counter
from collections.abc import Sequence
from itertools import islice, pairwise

import numpy as np
import pytest

from bench.speed_texts import questions, texts, turns
from bench.speed_vectors import ClusteredVectors, NearVectors, question_vector, vector_of
from mnemic.models.engine import FloatArray, InputType


def test_a_store_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    assert list(turns(50, seed=1)) == list(turns(50, seed=1))
    assert not set(texts(50, seed=1)) & set(texts(50, seed=2))


def test_no_text_comes_twice() -> None:
    assert len(set(texts(5_000, seed=3))) == 5_000


def test_conversations_have_twenty_turns_by_two_roles_in_order_of_time() -> None:
    made = list(turns(60, seed=1))
    assert Counter(item["conversation"] for item in made) == {f"conversation {n}": 20 for n in range(3)}
    assert [item["role"] for item in islice(made, 3)] == ["user", "assistant", "user"]
    assert all(earlier["at"] < later["at"] for earlier, later in pairwise(made))


def test_few_words_are_frequent_and_many_are_rare() -> None:
    counts = Counter(word for text in texts(5_000, seed=1) for word in text.lower().rstrip(".").split())
    total = sum(counts.values())
    assert sum(count for _, count in counts.most_common(100)) / total > 0.25
    assert sum(1 for count in counts.values() if count == 1) > len(counts) / 3


def test_questions_have_words_of_the_turn_that_they_are_about_and_none_comes_twice() -> None:
    stored = set(texts(300, seed=4))
    asked = questions(100, of_count=300, seed=4)
    assert len({each.question for each in asked}) == 100
    for each in asked:
        assert each.about in stored
        words = each.question.removeprefix("What about ").rstrip("?").split()
        assert set(words) <= set(each.about.lower().rstrip(".").split())


def test_there_can_be_more_questions_than_turns() -> None:
    assert len(questions(40, of_count=10, seed=5)) == 40


def test_a_vector_is_the_same_whenever_asked_for_and_of_length_one() -> None:
    vectors = np.stack([vector_of(text) for text in texts(50, seed=1)])
    np.testing.assert_array_equal(vectors, [vector_of(text) for text in texts(50, seed=1)])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(50), abs=1e-5)


def test_vectors_crowd_as_those_of_real_texts_do() -> None:
    vectors = np.stack([vector_of(text) for text in texts(2_500, seed=1)])
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    assert 0.06 < float(cosines.mean()) < 0.28
    assert 0.65 < float(np.median(cosines.max(axis=1))) < 0.75


def test_a_question_lies_nearer_to_its_turn_than_to_almost_all_others() -> None:
    vectors = np.stack([vector_of(text) for text in texts(1_000, seed=1)])
    places = {text: place for place, text in enumerate(texts(1_000, seed=1))}
    ranks = []
    for each in questions(50, of_count=1_000, seed=1):
        cosines = vectors @ question_vector(each.question, each.about)
        ranks.append(int((cosines > cosines[places[each.about]]).sum()))
    assert np.median(ranks) < 10


class Counted:
    """A model that counts what it embeds."""

    name = "counted"
    dimensions = 384

    def __init__(self) -> None:
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str], *, input_type: InputType) -> FloatArray:
        """Nothing but zeros: nobody may use them."""
        self.embedded += texts
        return np.zeros((len(texts), 384), np.float32)

    async def aclose(self) -> None:
        """There is nothing to give back."""


async def test_only_questions_cost_what_the_model_takes() -> None:
    model = Counted()
    engine = NearVectors(model, {"What about rain?": "The rain again."})
    stored = await engine.embed(["The rain again."], input_type="document")
    asked = await engine.embed(["What about rain?"], input_type="query")
    assert model.embedded == ["What about rain?"]
    np.testing.assert_array_equal(stored[0], vector_of("The rain again."))
    np.testing.assert_array_equal(asked[0], question_vector("What about rain?", "The rain again."))
    assert engine.name == ClusteredVectors.name
