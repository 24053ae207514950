"""Cron expressions: how they are parsed, and the messages for invalid ones."""

import pytest

from mnemic.errors import InvalidInputError
from mnemic.jobs.cron import CRON_MAX_CHARACTERS, Cron, parse_cron

EVERY_DAY = tuple(range(1, 32))
EVERY_MONTH = tuple(range(1, 13))
EVERY_WEEKDAY = tuple(range(7))


def test_stars_stand_for_everything() -> None:
    assert parse_cron("* * * * *") == Cron(
        tuple(range(60)), tuple(range(24)), EVERY_DAY, EVERY_MONTH, EVERY_WEEKDAY, either_day=False
    )


@pytest.mark.parametrize(
    ("text", "minutes", "hours", "weekdays"),
    [
        ("*/15 0 * * *", (0, 15, 30, 45), (0,), EVERY_WEEKDAY),
        ("5-20/5 8-10 * * *", (5, 10, 15, 20), (8, 9, 10), EVERY_WEEKDAY),
        ("59,0,30,0 23 * * *", (0, 30, 59), (23,), EVERY_WEEKDAY),
        ("0 0 * * mon-fri", (0,), (0,), (1, 2, 3, 4, 5)),
        ("0 0 * * SUN", (0,), (0,), (0,)),
        ("0 0 * * 7", (0,), (0,), (0,)),
        ("0 0 * * 5-7", (0,), (0,), (0, 5, 6)),
        ("0 0 * * 0-7", (0,), (0,), EVERY_WEEKDAY),
        ("  0   0 * *\t1  ", (0,), (0,), (1,)),
        ("@hourly", (0,), tuple(range(24)), EVERY_WEEKDAY),
        (" @Weekly ", (0,), (0,), (0,)),
    ],
)
def test_lists_ranges_steps_and_names(
    text: str, minutes: tuple[int, ...], hours: tuple[int, ...], weekdays: tuple[int, ...]
) -> None:
    read = parse_cron(text)
    assert (read.minutes, read.hours, read.weekdays) == (minutes, hours, weekdays)


def test_months_have_names_and_days_of_the_month_do_not() -> None:
    assert parse_cron("0 0 1 jan,Dec *").months == (1, 12)
    with pytest.raises(InvalidInputError, match="'jan' is no day of the month: it must be 1 to 31"):
        parse_cron("0 0 jan * *")


@pytest.mark.parametrize(
    ("text", "either_day"),
    [("0 0 13 * fri", True), ("0 0 13 * *", False), ("0 0 * * fri", False), ("0 0 */2 * fri", False)],
)
def test_one_of_two_restricted_days_is_enough(text: str, either_day: bool) -> None:
    assert parse_cron(text).either_day is either_day


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "five fields"),
        ("* * * *", "it has 4 field"),
        ("* * * * * *", "it has 6 field"),
        ("@reboot", "it has 1 field"),
        ("60 * * * *", "'60' is no minute: it must be 0 to 59"),
        ("* 24 * * *", "'24' is no hour: it must be 0 to 23"),
        ("* * 0 * *", "'0' is no day of the month: it must be 1 to 31"),
        ("* * * 13 *", "'13' is no month: it must be 1 to 12 or jan to dec"),
        ("* * * * 8", "'8' is no day of the week: it must be 0 to 7 or sun to sat"),
        ("-1 * * * *", "'' is no minute"),
        ("1, * * * *", "'' is no minute"),
        ("x * * * *", "'x' is no minute"),
        ("٣ * * * *", "is no minute"),
        ("*/0 * * * *", "a step is a whole number above 0"),
        ("*/x * * * *", "a step is a whole number above 0"),
        ("*/ * * * *", "a step is a whole number above 0"),
        ("5/15 * * * *", "a step needs \\* or a range, such as 5-59/15"),
        ("20-10 * * * *", "from the smaller to the larger"),
        ("1-2-3 * * * *", "'2-3' is no minute"),
        ("0 0 * * fri-mon", "from the smaller to the larger"),
        ("0" * (CRON_MAX_CHARACTERS + 1), "at most 256 characters"),
        (None, "must be text"),
        (5, "must be text"),
    ],
)
def test_the_message_names_the_invalid_field(text: object, complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        parse_cron(text)
