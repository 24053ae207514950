"""Matching known names: many names, and many entities of the same name, take no longer."""

import time

from mnemic.text_analysis.name_matching import NameMatcher, split_words

# Each of these took the number of words times the number of names, more than ten seconds.
CPU_MAX_S = 5.0


def find(names: list[str], text: str) -> list[str]:
    """The names that are found; entities are numbered."""
    return [
        names[number]
        for number in sorted(NameMatcher(zip(names, range(len(names)), strict=True)).find(split_words(text)))
    ]


def test_the_longest_name_counts_and_entities_share_names() -> None:
    names = ["New York", "New York City", "York", "new york city", "May", "may"]
    assert find(names, "I like new york city, and York. You may.") == [
        "New York City",
        "York",
        "new york city",
        "may",
    ]
    assert find(names, "New York in May") == ["New York", "May"]
    assert find(["a b c d", "a b"], "a b c e") == ["a b"]


def test_many_names_with_the_same_beginning_take_no_longer() -> None:
    names = [f"a b{number}" for number in range(20_000)]
    began_s = time.thread_time()
    assert find(names, "a " * 4_000 + "b7") == ["a b7"]
    assert time.thread_time() - began_s < CPU_MAX_S


def test_a_name_that_many_entities_have_takes_no_longer() -> None:
    names = ["Bob"] * 20_000
    began_s = time.thread_time()
    assert find(names, "Bob " * 2_000) == names
    assert time.thread_time() - began_s < CPU_MAX_S
