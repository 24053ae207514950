"""Times in texts, found by rules: single ones, ranges, parts, open ends, in four languages."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from mnemic.errors import InvalidInputError
from mnemic.text_analysis import times
from mnemic.text_analysis.detect import detect_times
from mnemic.text_analysis.time_words import MONTHS, NAMED_DAYS, RECENTLY, SEASONS, WEEKDAYS
from mnemic.text_analysis.times import RULES, Anchor, times_in

# A Wednesday.
MOMENT = datetime(2024, 5, 15, 12, 0, tzinfo=UTC)

TIMES: list[tuple[str, str, str, str]] = [
    # text, what is found, from, until (days as dates)
    ("at 2024-03-12T10:30:05Z", "at 2024-03-12T10:30:05Z", "2024-03-12T10:30:05", "2024-03-12T10:30:06"),
    ("at 2024-03-12 10:30", "at 2024-03-12 10:30", "2024-03-12T10:30", "2024-03-12T10:31"),
    ("at 2024-03-12T10:30+02:00", "at 2024-03-12T10:30+02:00", "2024-03-12T08:30", "2024-03-12T08:31"),
    ("on 2024-03-12, he", "on 2024-03-12", "2024-03-12", "2024-03-13"),
    ("12 March 2024", "12 March 2024", "2024-03-12", "2024-03-13"),
    ("Tuesday, 12th of March, 2024", "Tuesday, 12th of March, 2024", "2024-03-12", "2024-03-13"),
    ("March 12th, 2024", "March 12th, 2024", "2024-03-12", "2024-03-13"),
    ("on Mar. 3, 2020.", "on Mar. 3, 2020", "2020-03-03", "2020-03-04"),
    ("on 25/12/2023", "on 25/12/2023", "2023-12-25", "2023-12-26"),
    ("on 12/25/2023", "on 12/25/2023", "2023-12-25", "2023-12-26"),
    ("am 1.2.2024", "am 1.2.2024", "2024-02-01", "2024-02-02"),
    ("on 12 December", "on 12 December", "2023-12-12", "2023-12-13"),
    ("on May 20", "on May 20", "2024-05-20", "2024-05-21"),
    ("March 2024", "March 2024", "2024-03-01", "2024-04-01"),
    ("2024-02", "2024-02", "2024-02-01", "2024-03-01"),
    ("in May", "in May", "2024-05-01", "2024-06-01"),
    ("last March", "last March", "2024-03-01", "2024-04-01"),
    ("next March", "next March", "2025-03-01", "2025-04-01"),
    ("December was cold", "December", "2023-12-01", "2024-01-01"),
    ("Q3 2024", "Q3 2024", "2024-07-01", "2024-10-01"),
    ("in 2019", "in 2019", "2019-01-01", "2020-01-01"),
    ("since late 2020", "since late 2020", "2020-09-01", "2024-05-15T12:00"),
    ("in the 90s", "in the 90s", "1990-01-01", "2000-01-01"),
    ("the 2010s", "the 2010s", "2010-01-01", "2020-01-01"),
    ("last spring", "last spring", "2023-03-01", "2023-06-01"),
    ("this summer", "this summer", "2024-06-01", "2024-09-01"),
    ("last winter", "last winter", "2023-12-01", "2024-03-01"),
    ("in the fall of 2021", "in the fall of 2021", "2021-09-01", "2021-12-01"),
    ("today", "today", "2024-05-15", "2024-05-16"),
    ("yesterday", "yesterday", "2024-05-14", "2024-05-15"),
    ("the day before yesterday", "the day before yesterday", "2024-05-13", "2024-05-14"),
    ("TOMORROW", "TOMORROW", "2024-05-16", "2024-05-17"),
    ("last night", "last night", "2024-05-14T18:00", "2024-05-15T06:00"),
    ("this morning", "this morning", "2024-05-15T04:00", "2024-05-15T12:00"),
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
    ("the past three weeks", "the past three weeks", "2024-04-24", "2024-05-15T12:00"),
    ("the past year", "the past year", "2023-05-15", "2024-05-15T12:00"),
    ("the next 3 days", "the next 3 days", "2024-05-15T12:00", "2024-05-19"),
]


# The whole text is the time.
SPANS: list[tuple[str, str, str]] = [
    ("between May 3 and May 9", "2024-05-03", "2024-05-10"),
    ("between june 10 and june 20", "2024-06-10", "2024-06-21"),
    ("between may 3 and may 9", "2024-05-03", "2024-05-10"),
    ("from the 3rd to the 9th of May", "2024-05-03", "2024-05-10"),
    ("between the 3rd and the 9th", "2024-05-03", "2024-05-10"),
    ("from 3 to 9 May 2020", "2020-05-03", "2020-05-10"),
    ("May 3-9, 2020", "2020-05-03", "2020-05-10"),
    ("from May 3 to May 9, 2020", "2020-05-03", "2020-05-10"),
    ("from 28 December 2020 to 3 January", "2020-12-28", "2021-01-04"),
    ("between December 20 and January 5", "2023-12-20", "2024-01-06"),
    ("2024-01-05 until 2024-01-10", "2024-01-05", "2024-01-11"),
    ("from last Monday to yesterday", "2024-05-13", "2024-05-15"),
    ("between 2018 and 2020", "2018-01-01", "2021-01-01"),
    ("from March to April", "2024-03-01", "2024-05-01"),
    ("the first week of May", "2024-05-01", "2024-05-08"),
    ("in the last week of October 2020", "2020-10-25", "2020-11-01"),
    ("at the end of July", "2024-07-21", "2024-08-01"),
    ("mid-October 2020", "2020-10-11", "2020-10-21"),
    ("at the beginning of the month", "2024-05-01", "2024-05-11"),
    ("the second half of 2020", "2020-07-02", "2021-01-01"),
    ("in the summer of 2020", "2020-06-01", "2020-09-01"),
    ("the week of May 8", "2024-05-06", "2024-05-13"),
    ("the week before May 8", "2024-05-01", "2024-05-09"),
    ("two weeks after May 8, 2020", "2020-05-08", "2020-05-26"),
    ("the weekend before last", "2024-05-04", "2024-05-06"),
    ("in the last week", "2024-05-08", "2024-05-15T12:00"),
    ("the other day", "2024-05-05", "2024-05-15"),
    ("lately", "2024-04-15", "2024-05-15T12:00"),
    ("on the 3rd", "2024-05-03", "2024-05-04"),
    ("on may 3rd", "2024-05-03", "2024-05-04"),
    ("in may", "2024-05-01", "2024-06-01"),
    # Parts of a day.
    ("yesterday evening", "2024-05-14T17:00", "2024-05-15"),
    ("on Monday morning", "2024-05-13T04:00", "2024-05-13T12:00"),
    ("on the evening of May 3", "2024-05-03T17:00", "2024-05-04"),
    ("tonight", "2024-05-15T18:00", "2024-05-16T06:00"),
    # Open ends.
    ("since Monday", "2024-05-13", "2024-05-15T12:00"),
    ("since last summer", "2023-06-01", "2024-05-15T12:00"),
    ("after May 3", "2024-05-04", "2024-05-15T12:00"),
    ("after May 20", "2024-05-21", "9999-12-30"),
    ("before March", "0001-01-02", "2024-03-01"),
    ("until 3 March", "0001-01-02", "2024-03-04"),
    # Spanish, German, French.
    ("ayer", "2024-05-14", "2024-05-15"),
    ("esta mañana", "2024-05-15T04:00", "2024-05-15T12:00"),
    ("ayer por la tarde", "2024-05-14T12:00", "2024-05-14T21:00"),
    ("entre el 3 y el 9 de mayo", "2024-05-03", "2024-05-10"),
    ("del 3 al 9 de mayo de 2020", "2020-05-03", "2020-05-10"),
    ("a principios de mayo", "2024-05-01", "2024-05-11"),
    ("la semana pasada", "2024-05-06", "2024-05-13"),
    ("el lunes pasado", "2024-05-13", "2024-05-14"),
    ("hace tres días", "2024-05-12", "2024-05-13"),
    ("los últimos tres días", "2024-05-12", "2024-05-15T12:00"),
    ("desde el lunes", "2024-05-13", "2024-05-15T12:00"),
    ("gestern Abend", "2024-05-14T17:00", "2024-05-15"),
    ("heute Morgen", "2024-05-15T04:00", "2024-05-15T12:00"),
    ("letzte Woche", "2024-05-06", "2024-05-13"),
    ("am letzten Montag", "2024-05-13", "2024-05-14"),
    ("vor zwei Wochen", "2024-04-28", "2024-05-05"),
    ("zwischen dem 3. und dem 9. Mai", "2024-05-03", "2024-05-10"),
    ("im März 2020", "2020-03-01", "2020-04-01"),
    ("seit Montag", "2024-05-13", "2024-05-15T12:00"),
    ("hier soir", "2024-05-14T17:00", "2024-05-15"),
    ("la semaine dernière", "2024-05-06", "2024-05-13"),
    ("lundi dernier", "2024-05-13", "2024-05-14"),
    ("entre le 3 et le 9 mai", "2024-05-03", "2024-05-10"),
    ("il y a trois jours", "2024-05-12", "2024-05-13"),
    ("ces trois derniers jours", "2024-05-12", "2024-05-15T12:00"),
    ("début mai", "2024-05-01", "2024-05-11"),
]


def test_times_become_windows(subtests: pytest.Subtests) -> None:
    for text, found, start, end in [*TIMES, *((text, text, start, end) for text, start, end in SPANS)]:
        with subtests.test(text):
            (detected,) = detect_times(text, moment=MOMENT)
            assert detected.text == found == text[detected.start : detected.end]
            assert detected.value.start == datetime.fromisoformat(start).replace(tzinfo=UTC)
            assert detected.value.end == datetime.fromisoformat(end).replace(tzinfo=UTC)


def test_a_rule_is_skipped_only_where_it_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [text for text, *_ in (*TIMES, *SPANS)]
    texts += [text.upper() for text in texts] + WORDS_OF_TIME
    found = [list(times_in(text, Anchor(MOMENT))) for text in texts]
    assert all(needed is not None for kind, _, _, needed in RULES if kind == "season")
    monkeypatch.setattr(times, "RULES", tuple((*rule, None) for *rule, _ in RULES))
    assert found == [list(times_in(text, Anchor(MOMENT))) for text in texts]


def test_a_day_without_a_year_is_the_one_that_the_caller_leans_to(subtests: pytest.Subtests) -> None:
    for text, past, future in (
        ("on Saturday", "2024-05-11", "2024-05-18"),
        ("on Wednesday", "2024-05-15", "2024-05-15"),
        ("May 20", "2023-05-20", "2024-05-20"),
        ("in June", "2023-06-01", "2024-06-01"),
        ("29 February", "2024-02-29", "2025-02-28"),
        ("on the 20th", "2024-04-20", "2024-05-20"),
    ):
        with subtests.test(text):
            for lean, expected in (("past", past), ("future", future)):
                (detected,) = detect_times(text, moment=MOMENT, lean=lean)  # type: ignore[arg-type]
                assert detected.value.start == datetime.fromisoformat(expected).replace(tzinfo=UTC)


WORDS_OF_TIME = [
    *(f"in {month.title()}" for month in MONTHS),
    *RECENTLY,
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
        "this may be",
        "los lunes",
        "in the morning",
        "a las 8 de la mañana",
        "Guten Morgen",
        "Was ist hier passiert?",
        "the 3rd floor",
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
    assert [detected.text for detected in found] == [
        "Last Friday",
        "in March 2024",
        "yesterday",
        "2024-01-01",
    ]
