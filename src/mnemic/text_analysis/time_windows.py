"""Time windows relative to a moment: days, weeks, months, and multiples of them away.

A window is half-open: its start, and the first moment after it. Moments have a time zone; adding days keeps
the local time of day.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

Window = tuple[datetime, datetime]

# Units that are counted in months.
MONTHS_OF = {"month": 1, "quarter": 3, "year": 12, "decade": 120}


def day(now: datetime, days: int = 0, length: int = 1) -> Window:
    """The day `days` days from today, or `length` days from that one on."""
    start = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=days)
    return start, start + timedelta(days=length)


def week_day(now: datetime, weekday: int, weeks: int, length: int = 1) -> Window:
    """A weekday (Monday is 0) in the week `weeks` weeks from this one."""
    return day(now, weekday - now.weekday() + 7 * weeks, length)


def months(now: datetime, index: int, length: int = 1) -> Window:
    """`length` months from the one that is number `index` since year 0."""
    first, behind = (
        now.replace(year=number // 12, month=number % 12 + 1, day=1) for number in (index, index + length)
    )
    return day(first)[0], day(behind)[0]


def moved(now: datetime, unit: str, count: int) -> datetime:
    """`count` units later, or earlier if negative; the 31st becomes the last day of a shorter month."""
    if unit in MONTHS_OF:
        start, end = months(now, now.year * 12 + now.month - 1 + count * MONTHS_OF[unit])
        last_day = (end - timedelta(days=1)).day
        return now.replace(year=start.year, month=start.month, day=min(now.day, last_day))
    return now + timedelta(**{f"{unit}s": count})


def around(point: datetime, unit: str) -> Window:
    """The window of one unit around a moment: an hour, a day, seven days, a month, a year."""
    match unit:
        case "minute" | "hour":
            half = timedelta(**{f"{unit}s": 0.5})
            return point - half, point + half
        case "day":
            return day(point)
        case "week":
            return day(point, -3, 7)
        case _:
            half_days = 15 * MONTHS_OF[unit]
            return day(point, -half_days, 2 * half_days + 1)


def choose(now: datetime, lean: str, step: int | None, window_of: Callable[[int], Window]) -> Window | None:
    """Choose among windows that recur every year, month or week; `window_of(0)` is that of the current one.

    A `step` of -1 is the last one that has ended, 0 the current one, 1 the next one. Without a step, `lean`
    says whether the last one that has begun is meant ("past"), the first that has not ended ("future"), or
    the nearest.
    """
    windows = [window_of(number) for number in (-2, -1, 0, 1, 2)]
    begun = [window for window in windows if window[0] <= now]
    match step, lean:
        case -1, _:
            return [window for window in begun if window[1] <= now][-1]
        case 1, _:
            return next(window for window in windows if window[0] > now)
        case 0, _:
            return next((window for window in begun if now < window[1]), window_of(0))
        case _, "past":
            return begun[-1]
        case _, "future":
            return next(window for window in windows if window[1] > now)
    return min(windows, key=lambda window: max(window[0] - now, now - window[1]))
