"""Moments that callers pass: aware datetimes, ISO 8601 text, bare dates."""

from datetime import UTC, date, datetime

import pytest

from mnemic.errors import InvalidInputError
from mnemic.types.checks import check_time


@pytest.mark.parametrize(
    ("given", "moment"),
    [
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("20260301", datetime(2026, 3, 1, tzinfo=UTC)),
        ("0001-01-01", datetime(1, 1, 1, tzinfo=UTC)),
        ("2026-03-01T10:00:00Z", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03-01T10:00+02:00", datetime(2026, 3, 1, 8, tzinfo=UTC)),
        (datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)),
    ],
)
def test_dates_and_times_become_moments_in_utc(given: object, moment: datetime) -> None:
    checked = check_time("at", given)
    assert (checked, checked.tzinfo) == (moment, UTC)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("2026-03-01T10:00", "at has no time zone: write 2026-03-01T10:00:00Z for UTC."),
        (
            datetime(2026, 3, 1, 10),
            "at has no time zone: write 2026-03-01T10:00:00Z for UTC, or pass an aware datetime.",
        ),
        (date(2026, 3, 1), "at must be a datetime or ISO 8601 text, not date."),
        (
            "2026-02-30",
            "at must be a date such as 2026-03-01, or a date and time such as 2026-03-01T10:00:00Z, "
            "not '2026-02-30'.",
        ),
        ("0001-01-01T00:00+01:00", "at must lie in the years 1 to 9999 of UTC."),
    ],
)
def test_other_values_are_refused_with_advice(given: object, message: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        check_time("at", given)
    assert str(refused.value) == message
