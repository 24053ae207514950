"""What a sentence says about a person, and the names beside relations."""

import pytest

from mnemic.text_analysis.personal_facts import facets_of, names_relative
from mnemic.text_analysis.relations import names_beside, relations_in

MAIN_FACETS = {
    "My name is Ada and I collect stamps.": "identity",
    "Omar Haddad, 51, likes jazz.": "identity",
    "Ich heiße Jonas.": "identity",
    "We moved to a flat in Porto.": "home",
    "J'habite à Lyon depuis 2019.": "home",
    "Works as a welder for a shipyard.": "work",
    "Trabajo en una panadería.": "work",
    "My cousin Ines lives in Ghent and works as a nurse.": "people",
    "Omar's daughter plays chess.": "people",
    "Meine Schwester ist Ärztin.": "people",
    "I have a small parrot called Pepper.": "people",
    "Is allergic to wasp stings.": "health",
    "Takes 20 mg of a statin.": "health",
    "Wants short answers without emojis.": "style",
    "Prefers trains to planes.": "preferences",
    "Speaks Greek and some Turkish.": "expertise",
    "Sings in a choir every Tuesday.": "habits",
    "The tax return is due on 31 May.": "current",
}


def test_the_main_facet_of_a_sentence(subtests: pytest.Subtests) -> None:
    for text, facet in MAIN_FACETS.items():
        with subtests.test(text):
            assert facets_of(text)[:1] == (facet,)


def test_a_sentence_may_say_several_things_or_nothing() -> None:
    assert facets_of("Ada is 30 and works as a welder.")[:2] == ("identity", "work")
    assert facets_of("The bridge was painted green.") == ()
    assert facets_of("The bridge was painted green.", "preference") == ("preferences",)


def test_numbers_are_not_ages(subtests: pytest.Subtests) -> None:
    for text in (
        "The budget is 5,400 euros.",
        "Lisbon, 12 to 16 March: rain.",
        "The meeting is 30 minutes long.",
    ):
        with subtests.test(text):
            assert "identity" not in facets_of(text)


def test_relatives_are_told_from_other_people() -> None:
    assert names_relative("My aunt Rosa bakes.")
    assert not names_relative("The plumber is called Rosa.")


@pytest.mark.parametrize(
    ("query", "text", "name"),
    [
        ("my husband", "She met her husband Tobias in Ghent.", "Tobias"),
        ("her mum", "Mother Ngozi calls on Sundays.", "Ngozi"),
        ("my boss", "Clara is my manager.", "Clara"),
        ("his sister", "Étienne, Marta's brother, sails.", "Marta"),
        ("mi hermana", "My sister Sela has twins.", "Sela"),
        ("meine Freundin", "Mi amiga Fátima hornea pan.", "Fátima"),
    ],
)
def test_the_name_beside_a_relation(query: str, text: str, name: str) -> None:
    assert name in names_beside(text, relations_in(query))


def test_a_text_without_the_relation_names_nobody() -> None:
    assert relations_in("Where is the key?") == frozenset()
    assert list(names_beside("Her husband Tobias sails.", relations_in("my dentist"))) == []
