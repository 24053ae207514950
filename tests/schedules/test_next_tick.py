"""The next tick: time zones, daylight saving time, days that never come."""

from datetime import UTC, datetime, timedelta

import pytest

from mnemic.jobs.cron import parse_cron
from tests.conftest import AppConnection


def ticks(
    connection: AppConnection, cron: str, zone: str, after: str, count: int = 1, *, backward: bool = False
) -> list[str]:
    """The next ticks after a moment, or the last ones up to it, as UTC."""
    found: list[str] = []
    moment: object = datetime.fromisoformat(after)
    read = parse_cron(cron)
    numbers = [list(part) for part in (read.minutes, read.hours, read.days, read.months, read.weekdays)]
    for _ in range(count):
        row = connection.execute(
            "SELECT mnemic.cron_time(%s::smallint[], %s::smallint[], %s::smallint[], %s::smallint[],"
            " %s::smallint[], %s, %s, %s, %s)",
            [*numbers, read.either_day, zone, moment, backward],
        ).fetchone()
        assert row is not None
        if row[0] is None:
            return found
        assert isinstance(row[0], datetime)
        moment = row[0] - timedelta(microseconds=1) if backward else row[0]
        found.append(row[0].astimezone(UTC).strftime("%Y-%m-%d %H:%M"))
    return found


@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        ("* * * * *", "2026-01-01T10:00:00Z", ["2026-01-01 10:01", "2026-01-01 10:02"]),
        ("* * * * *", "2026-01-01T10:00:59.999999Z", ["2026-01-01 10:01", "2026-01-01 10:02"]),
        ("*/20 * * * *", "2026-12-31T23:45:00Z", ["2027-01-01 00:00", "2027-01-01 00:20"]),
        ("30 3 * * *", "2026-02-28T03:30:00Z", ["2026-03-01 03:30", "2026-03-02 03:30"]),
        ("0 0 29 2 *", "2026-01-01T00:00:00Z", ["2028-02-29 00:00", "2032-02-29 00:00"]),
        ("0 0 29 2 *", "2096-03-01T00:00:00Z", ["2104-02-29 00:00"]),
        ("0 0 31 * *", "2026-01-31T00:00:00Z", ["2026-03-31 00:00", "2026-05-31 00:00"]),
        ("0 9 * * mon-fri", "2026-11-13T09:00:00Z", ["2026-11-16 09:00", "2026-11-17 09:00"]),
        # A Friday, or the 13th; 2026-11-13 is both.
        ("0 0 13 * fri", "2026-11-06T00:00:00Z", ["2026-11-13 00:00", "2026-11-20 00:00"]),
        ("0 0 13 * fri", "2026-12-11T00:00:00Z", ["2026-12-13 00:00", "2026-12-18 00:00"]),
        # Each second day that is a Friday: a star in one of the two makes it both.
        ("0 0 */2 * fri", "2026-11-01T00:00:00Z", ["2026-11-13 00:00", "2026-11-27 00:00"]),
    ],
)
def test_in_utc(shared_admin: AppConnection, cron: str, after: str, expected: list[str]) -> None:
    assert ticks(shared_admin, cron, "UTC", after, len(expected)) == expected


@pytest.mark.parametrize("cron", ["0 0 30 2 *", "0 0 31 4,6,9,11 *"])
def test_what_never_comes_has_no_tick(shared_admin: AppConnection, cron: str) -> None:
    assert ticks(shared_admin, cron, "UTC", "2026-01-01T00:00:00Z") == []


@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        ("0 8 * * *", "Europe/Berlin", "2026-07-01T00:00:00Z", ["2026-07-01 06:00"]),
        ("0 8 * * *", "Europe/Berlin", "2026-12-01T00:00:00Z", ["2026-12-01 07:00"]),
        ("0 0 1 * *", "Asia/Kolkata", "2026-03-30T00:00:00Z", ["2026-03-31 18:30"]),
        ("0 0 1 * *", "Pacific/Auckland", "2026-01-30T00:00:00Z", ["2026-01-31 11:00"]),
        # Berlin, 29 March 2026: 02:00 becomes 03:00. What falls into the hole comes when it is over.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", ["2026-03-29 01:30", "2026-03-30 00:30"]),
        ("0 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", ["2026-03-29 01:00", "2026-03-29 02:00"]),
        # Berlin, 25 October 2026: 03:00 becomes 02:00. What has an hour comes once, what has none in both.
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", ["2026-10-25 01:30", "2026-10-26 01:30"]),
        (
            "30 * * * *",
            "Europe/Berlin",
            "2026-10-25T00:00:00Z",
            ["2026-10-25 00:30", "2026-10-25 01:30", "2026-10-25 02:30"],
        ),
        # Lord Howe moves its clock by half an hour.
        (
            "15 * * * *",
            "Australia/Lord_Howe",
            "2026-04-04T14:00:00Z",
            ["2026-04-04 14:15", "2026-04-04 15:45", "2026-04-04 16:45"],
        ),
        # Beirut puts its clock back at midnight, so that it is 23:30 of the same day twice.
        (
            "30 23 * * *",
            "Asia/Beirut",
            "2026-10-24T12:00:00Z",
            ["2026-10-24 21:30", "2026-10-25 21:30"],
        ),
    ],
)
def test_in_a_time_zone(
    shared_admin: AppConnection, cron: str, zone: str, after: str, expected: list[str]
) -> None:
    assert ticks(shared_admin, cron, zone, after, len(expected)) == expected


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut"])
@pytest.mark.parametrize("cron", ["0 * * * *", "7,52 * * * *", "0 2,23 * * *", "30 1-3 * * sat,sun"])
def test_the_last_tick_up_to_a_moment_is_the_one_whose_next_is_behind_it(
    shared_admin: AppConnection, cron: str, zone: str
) -> None:
    """Forward through both changes of the clock, and then back over the same ticks."""
    for after in (
        "2026-03-06T00:00:00Z",
        "2026-04-02T00:00:00Z",
        "2026-10-23T00:00:00Z",
        "2026-10-30T00:00:00Z",
    ):
        forward = ticks(shared_admin, cron, zone, after, 80)
        assert forward == sorted(set(forward))
        assert len(forward) == 80
        just_before = f"{forward[-1].replace(' ', 'T')}:59Z"
        backward = ticks(shared_admin, cron, zone, just_before, 80, backward=True)
        assert backward[::-1] == forward


def test_a_tick_up_to_a_moment_may_be_that_moment(shared_admin: AppConnection) -> None:
    assert ticks(shared_admin, "0 3 * * *", "UTC", "2026-01-01T03:00:00Z", backward=True) == [
        "2026-01-01 03:00"
    ]
    assert ticks(shared_admin, "0 3 * * *", "UTC", "2026-01-01T02:59:59Z", backward=True) == [
        "2025-12-31 03:00"
    ]
    assert ticks(shared_admin, "0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", backward=True) == [
        "2024-02-29 00:00"
    ]
