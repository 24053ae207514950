"""The confidence of recall: what raises it and what lowers it."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from mnemic.recall.candidates.lexical import LexicalMatches
from mnemic.recall.candidates.pool import CandidatePool
from mnemic.recall.candidates.query_terms import QueryTerms
from mnemic.recall.query_analysis import QueryAnalysis
from mnemic.recall.ranking import rank
from mnemic.recall.readable_owners import ReadableOwner
from mnemic.recall.refusal import (
    FEW_MIN,
    MEMORIES_MAX,
    MEMORIES_MIN,
    REFUSE_BELOW,
    STRICT_BELOW,
    WEAK_BELOW,
    confidence,
    decide_outcome,
    judge_confidence,
    refusal_threshold,
)
from mnemic.recall.request import Filter

LOCAL = "local:all-MiniLM-L6-v2"
MULTILINGUAL = "local:universal-sentence-encoder-multilingual"
ANALYSIS = QueryAnalysis(
    topic="garden pond",
    lexical_text="garden pond",
    windows=(),
    phrases=(),
    speaker_roles=frozenset(),
    casefolded_words=frozenset({"garden", "pond"}),
    is_time_only=False,
    lists_time=False,
)


def sample_words(
    counts: tuple[int | None, ...] = (3, 3), *, memory_count: int = 100, has_statistics: bool = False
) -> LexicalMatches:
    """A query of two terms, with the number of memories that have each."""
    terms = QueryTerms(
        lexemes=("garden", "pond"),
        tsqueries=("'garden'", "'pond'"),
        counts=counts,
        memory_count=memory_count,
        mean_bytes=100.0,
        has_statistics=has_statistics,
        is_stale=False,
        has_entities=False,
        has_grants=False,
        vector_table=None,
    )
    shares = np.array([(1 if count is None else count) / memory_count for count in counts])
    return LexicalMatches(terms, np.array([4.0, 4.0]), shares, (), {})


def sample_pool(words: LexicalMatches | None = None, terms: tuple[int, ...] = (1, 0)) -> CandidatePool:
    """Candidates with these terms and medium cosines."""
    zeros = np.zeros(len(terms))
    nothing = (None,) * len(terms)
    return CandidatePool(
        readable=ReadableOwner("ada", Filter()),
        lexical=words or sample_words(),
        keys=[bytes([number]) * 16 for number in range(len(terms))],
        origins=[({"source": ["user_provided"] * len(terms)}, number) for number in range(len(terms))],
        conversations=nothing,
        positions=nothing,
        roles=nothing,
        names=nothing,
        channels=("default",) * len(terms),
        bytes=zeros + 100,
        happened_at_s=zeros,
        confidences=zeros + 1,
        usefulnesses=zeros + 0.5,
        saliences=zeros + 0.5,
        anchored=zeros,
        tenses=zeros,
        terms=terms,
        found_by=(("vector",),) * len(terms),
        hops=zeros + np.inf,
        cosines=np.array([0.35, 0.2])[: len(terms)],
        cosine_mean=0.05,
        cosine_deviation=0.09,
        counts={},
    )


def sure(pool: CandidatePool, model: str | None = LOCAL) -> float:
    """The confidence of a single pool."""
    return confidence([pool], [rank(pool, ANALYSIS, 0.0)], ANALYSIS, model)


def parts_of(pool: CandidatePool) -> Mapping[str, float]:
    """The parts of the sum that the confidence of a single pool comes from."""
    return judge_confidence([pool], [rank(pool, ANALYSIS, 0.0)], ANALYSIS, LOCAL).parts


def test_near_memories_words_in_common_and_a_fitting_owner_raise_confidence() -> None:
    usual = sure(sample_pool())
    assert 0 < usual < 1
    assert sure(replace(sample_pool(), cosines=np.array([0.6, 0.2]))) > usual
    assert sure(replace(sample_pool(), cosine_mean=0.2, cosines=np.array([0.5, 0.35]))) > usual
    assert sure(sample_pool(terms=(3, 0))) > usual


def test_a_term_that_no_memory_has_lowers_confidence_and_a_second_one_less() -> None:
    known, one, two = (
        sure(sample_pool(sample_words(counts), terms=(0, 0))) for counts in ((3, 3), (3, 0), (0, 0))
    )
    assert known > one > two
    logits = [np.log(each / (1 - each)) for each in (known, one, two)]
    assert logits[0] - logits[1] > logits[1] - logits[2]


def test_a_term_without_a_count_is_unknown_unless_a_candidate_has_it() -> None:
    rare = sample_words((3, None), memory_count=5_000, has_statistics=True)
    counted = sample_words((3, 1), memory_count=5_000, has_statistics=True)
    assert sure(sample_pool(rare)) < sure(sample_pool(counted))
    assert sure(sample_pool(rare, terms=(1, 2))) == sure(sample_pool(counted, terms=(1, 2)))


@pytest.mark.parametrize(
    ("fewer", "more", "is_equal"),
    [(1, MEMORIES_MIN, True), (20, 500, False), (MEMORIES_MAX, 1_000_000, True)],
)
def test_more_memories_lower_confidence_within_what_was_measured(
    fewer: int, more: int, is_equal: bool
) -> None:
    few, many = (sure(sample_pool(sample_words(memory_count=count)), None) for count in (fewer, more))
    assert few == many if is_equal else few > many


def test_the_range_of_memories_belongs_to_the_calibration() -> None:
    parts = {
        count: parts_of(sample_pool(sample_words(memory_count=count)))["memories"]
        for count in (1, FEW_MIN, 20, 100, 300, 5_000)
    }
    assert parts[20] > parts[100] > parts[300] == parts[5_000]
    assert parts[1] == parts[FEW_MIN] < parts[20]


def test_words_of_a_long_memory_count_less() -> None:
    short = sample_pool(terms=(3, 0))
    long = replace(short, bytes=np.array([6_000.0, 100.0]))
    assert parts_of(short)["dense words"] > 2 * parts_of(long)["dense words"] > 0


def test_a_share_of_many_words_raises_confidence_more_than_the_same_share_of_few() -> None:
    half_of_two = sample_pool(terms=(1, 0))
    words = half_of_two.lexical
    four = replace(
        words.terms, lexemes=("garden", "pond", "blue", "fish"), tsqueries=("",) * 4, counts=(3,) * 4
    )
    longer = replace(words, terms=four, weights=np.full(4, 4.0), shares=np.full(4, 0.03))
    half_of_four = sample_pool(longer, terms=(3, 0))
    assert parts_of(half_of_four)["dense words"] > parts_of(half_of_two)["dense words"]


def test_other_turns_of_a_conversation_are_no_rivals_of_its_best_turn() -> None:
    pool = sample_pool(terms=(3, 3) + (0,) * 8)
    pool = replace(pool, cosines=np.array([0.6, 0.55] + [0.1] * 8))
    together = replace(pool, conversations=("a",) * 10)
    apart = replace(pool, conversations=("a", "b") + ("a",) * 8)
    assert "lead" not in parts_of(together)
    assert 0 < parts_of(apart)["lead"] < parts_of(pool)["lead"]


def test_a_query_in_another_language_than_the_memories_is_weak_and_never_refused() -> None:
    english = replace(
        sample_pool(terms=(0, 0)),
        origins=[
            ({"content": ["The pond in the garden was dug in May."] * 2, "source": [None] * 2}, place)
            for place in range(2)
        ],
        cosines=np.array([-0.2, -0.2]),
    )
    asked = {
        "Where is the fish?": True,
        "Wo ist der Fisch in dem Teich?": False,
        "Где рыба?": False,
        "鱼在哪里？": False,
    }
    for topic, is_refused in asked.items():
        analysis = replace(ANALYSIS, topic=topic)
        rankings = [rank(english, analysis, 0.0)]
        decision = decide_outcome([english], rankings, analysis, LOCAL, "ada", REFUSE_BELOW)
        assert decision.refused is is_refused, topic
        if not is_refused:
            assert decision.outcome == "weak"


def test_words_in_common_raise_the_confidence_in_another_language() -> None:
    analysis = replace(ANALYSIS, topic="Wo ist der Fisch in dem Teich?")
    texts = {"content": ["The pond in the garden was dug in May."] * 2, "source": [None] * 2}
    without, with_words = (
        replace(sample_pool(terms=(terms, 0)), origins=[(texts, 0), (texts, 1)]) for terms in (0, 3)
    )
    assert confidence([with_words], [rank(with_words, analysis, 0.0)], analysis, LOCAL) > confidence(
        [without], [rank(without, analysis, 0.0)], analysis, LOCAL
    )


def test_cosines_that_differ_more_raise_confidence() -> None:
    pool = sample_pool()
    apart = replace(pool, cosine_deviation=0.12)
    rankings = [rank(pool, ANALYSIS, 0.0)]
    assert confidence([apart], rankings, ANALYSIS, LOCAL) > confidence([pool], rankings, ANALYSIS, LOCAL)


def test_without_a_calibration_the_mean_cosine_does_not_count() -> None:
    pool, nearer = sample_pool(), replace(sample_pool(), cosine_mean=0.4)
    assert sure(pool, "openai:some-model") == sure(nearer, "openai:some-model")
    assert sure(pool, MULTILINGUAL) != sure(nearer, MULTILINGUAL)


def test_a_pool_without_candidates_does_not_count() -> None:
    pool, empty = sample_pool(), sample_pool(terms=())
    assert sure(empty) == 0.0
    rankings = [rank(each, ANALYSIS, 0.0) for each in (empty, pool)]
    assert confidence([empty, pool], rankings, ANALYSIS, LOCAL) == sure(pool)


def test_the_confidence_decides_the_outcome() -> None:
    outcomes = set()
    for cosine in np.linspace(-1, 1, 21):
        pool = replace(sample_pool(), cosines=np.array([cosine, cosine]))
        rankings = [rank(pool, ANALYSIS, 0.0)]
        decision = decide_outcome([pool], rankings, ANALYSIS, LOCAL, "ada", REFUSE_BELOW)
        below = [sure for sure in (REFUSE_BELOW, WEAK_BELOW) if decision.confidence < sure]
        expected = ("found", "weak", "refused")[len(below)]
        assert (decision.outcome, decision.refused) == (expected, expected == "refused")
        assert (decision.reason is not None) is decision.refused
        outcomes.add(decision.outcome)
    assert outcomes == {"found", "weak", "refused"}


@pytest.mark.parametrize(
    ("given", "setting", "strict", "expected"),
    [
        (None, None, False, REFUSE_BELOW),
        (None, None, True, STRICT_BELOW),
        (None, 0.0, False, 0.0),
        (None, 0.0, True, STRICT_BELOW),
        (None, 0.9, True, 0.9),
        (0.0, 0.9, True, 0.0),
        (0.7, None, False, 0.7),
    ],
)
def test_the_call_decides_before_strict_and_strict_before_the_settings(
    given: float | None, setting: float | None, strict: bool, expected: float
) -> None:
    assert refusal_threshold(given, setting, strict=strict) == expected
