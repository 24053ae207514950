"""Which word a misspelt word is taken for."""

from datetime import UTC, datetime

import pytest

from mnemic.recall.edit_distance import WordMatrix, edit_cost
from mnemic.recall.query_analysis import analyse_query
from mnemic.recall.spelling import (
    SUSPECTS_MAX,
    Vocabulary,
    corrected,
    stem_lengths,
    suspects_in,
    with_corrected_words,
)

STEMS = ["paint", "supervisor", "ifeoma", "allergi", "zermatt", "kubernet", "hermana", "boiler", "famili"]


def corrections_of(query: str, stems: list[str] = STEMS, *, english: bool = True) -> dict[str, str]:
    found = Vocabulary(stems, with_common_words=english).corrections(suspects_in(query))
    return {each.word: each.replacement for each in found}


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("my supervsior", {"supervsior": "supervisor"}),
        ("my suppervisor", {"suppervisor": "supervisor"}),
        ("the suprvisr", {"suprvisr": "supervisor"}),
        ("paintnigs of mine", {"paintnigs": "paintings"}),
        ("my alergy", {"alergy": "allergy"}),
        ("the famliy", {"famliy": "family"}),
        ("trip to Zermat", {"zermat": "zermatt"}),
        ("trip to Xermatt", {"xermatt": "zermatt"}),
        ("what about Ifeomma?", {"ifeomma": "ifeoma"}),
        ("when did she recieve it", {"recieve": "receive"}),
        ("what does mysupervisor say", {"mysupervisor": "my supervisor"}),
    ],
)
def test_a_misspelt_word_is_taken_for_a_near_one(query: str, wanted: dict[str, str]) -> None:
    assert corrections_of(query) == wanted


@pytest.mark.parametrize(
    "query",
    [
        "what does E55 mean",
        "SKU-2231 and CW-1187",
        "the NASDAQX index",
        "kubernets@example.org or /etc/kubernets.d",
        "Ifeoma's paintings",
        "my painter",
        "quokka",
        "a boil",
        "Marlowe is here",
        "女儿对什么过敏",
    ],
)
def test_valid_words_names_and_codes_stay_as_they_are(query: str) -> None:
    assert corrections_of(query) == {}


def test_a_query_in_another_language_is_not_made_english() -> None:
    assert corrections_of("donde trabaja mi hemrana", english=False) == {"hemrana": "hermana"}
    assert corrections_of("mi herrmano", ["boiler"], english=False) == {}


def test_corrections_keep_capitals_and_count_as_mentioned() -> None:
    found = Vocabulary(STEMS, with_common_words=True).corrections(suspects_in("Supervsior or Ifeomma"))
    assert corrected("Supervsior or Ifeomma", found) == "Supervisor or Ifeoma"
    analysis = analyse_query("who is Ifeomma", datetime.now(UTC))
    assert not analysis.mentions("Ifeoma")
    assert with_corrected_words(analysis, found).mentions("Ifeoma")


def test_long_queries_have_a_bounded_number_of_suspects() -> None:
    assert len(suspects_in(" ".join(f"qwrtz{letter * 3}" for letter in "abcdefghijkl"))) == SUSPECTS_MAX
    assert stem_lengths(suspects_in("supervsior")) == (3, 12)


def test_distances_of_many_words_agree_with_those_of_two() -> None:
    words = ["abcd", "abdc", "bcd", "abcde", "xbcd", "abc", "dcba", "ab", "abccd"]
    near = WordMatrix.of(words).near("abcd", 1)
    assert near == [word for word in words if edit_cost("abcd", word, 1.0, 1.0) <= 1]
    assert WordMatrix.of([]).near("abcd", 1) == []
