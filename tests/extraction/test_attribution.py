"""Whether a quotation is about its speaker."""

import pytest

from mnemic.extraction.attribution import is_about_another


def test_the_attributes_of_others_are_not_those_of_the_speaker(subtests: pytest.Subtests) -> None:
    for quotation, attribute, expected in (
        ("My cat lives in Oslo", "lives_in", True),
        ("my older sister works at Acme", "works_at", True),
        ("Our landlord's address is 5 Elm Street", "address", True),
        ("My home is in Oslo", "lives_in", False),
        ("I live in Oslo with my cat", "lives_in", False),
        ("My birthday is in May", "birthday", False),
        ("My wife is Ana", "wife", False),
        ("my current job is nurse", "works_as", False),
        ("My full name is Ana Lee", "full_name", False),
        ("My cat likes fish", "likes", False),
        ("Oslo is where we moved", "lives_in", False),
    ):
        with subtests.test(quotation):
            assert is_about_another(quotation, attribute, replaces=False) == expected
    assert is_about_another("My cat likes fish", "likes", replaces=True)
