"""Rules that detect dates and English time expressions and resolve them to time windows.

A rule is a pattern and a function that computes the window from the match and the moment from which relative
expressions count. Conventions: a week begins on Monday; seasons are those of the north, three whole months
each; "next Tuesday" is the first one after today; a date, weekday or month without a year is the one
nearest to the moment; "two weeks ago" is the week around that day. Ambiguous dates (3/4/2024) are
ignored.

dateparser was tried first: it returns moments, not windows ("March 2024" is the 15th), takes "may" for a
month, misses seasons and weekends, and adds 0.4 s to the first call.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from mnemic.text_analysis.time_windows import Window, around, choose, day, months, moved, week_day

TimeKind = Literal["clock", "day", "week", "month", "season", "year", "span"]
Resolve = Callable[[re.Match[str], datetime], Window | None]


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """From `start` on, before `end`; both in UTC."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class DetectedTime:
    """A date or time expression in a text, at `text[start:end]`; `value` is its window."""

    text: str
    start: int
    end: int
    kind: TimeKind
    value: TimeWindow


def times_in(text: str, now: datetime) -> Iterator[DetectedTime]:
    """Every match of every rule; matches may overlap. Days are those of `now`'s time zone."""
    plain = text.translate(_PLAIN_LETTERS)
    if not _may_name_a_time(plain):
        return
    for kind, pattern, resolve in RULES:
        for found in pattern.finditer(plain):
            try:
                window = resolve(found, now)
                if window is not None:
                    start, end = (bound.astimezone(UTC) for bound in window)
                    named = text[found.start() : found.end()]
                    yield DetectedTime(named, *found.span(), kind, TimeWindow(start, end))
            except (ValueError, OverflowError):  # 31 February, or beyond the years 1 to 9999
                continue


def _may_name_a_time(text: str) -> bool:
    """Whether any rule can match: most texts have no time, and trying every rule takes ten times as long."""
    lowered = text.lower()
    return any(part in lowered for part in _PARTS) or _DIGIT.search(text) is not None


def _clock(found: re.Match[str], now: datetime) -> Window:
    at = datetime.fromisoformat(f"{found['date']}T{found['time']}{found['zone'] or ''}")
    at = at.astimezone(now.tzinfo) if at.tzinfo else at.replace(tzinfo=now.tzinfo)
    return at, at + timedelta(seconds=1 if found["time"].count(":") == 2 else 60)


def _date(found: re.Match[str], now: datetime) -> Window | None:
    number, month, year = int(found["day"]), _month_number(found["month"]), found.groupdict().get("year")
    if year is not None:
        return day(now.replace(year=int(year), month=month, day=number))
    # "may 5 people" is no date, "May 5" is one.
    if not found["month"][0].isupper():
        return None
    return choose(now, "", lambda years: day(now.replace(year=now.year + years, month=month, day=number)))


def _slashed(found: re.Match[str], now: datetime) -> Window | None:
    first, second, year = int(found["first"]), int(found["second"]), int(found["year"])
    if found["sign"] == "." or first > 12 or first == second:
        return day(now.replace(year=year, month=second, day=first))
    return day(now.replace(year=year, month=first, day=second)) if second > 12 else None


def _month(found: re.Match[str], now: datetime) -> Window | None:
    number, groups = _month_number(found["month"]), found.groupdict()
    if groups.get("year"):
        return months(now, int(found["year"]) * 12 + number - 1)
    if not found["month"][0].isupper():
        return None
    which = _which(found) if "which" in groups else ""
    return choose(now, which, lambda years: months(now, (now.year + years) * 12 + number - 1))


def _season(found: re.Match[str], now: datetime) -> Window | None:
    first = SEASONS[found["season"].lower()]
    if found.groupdict().get("year"):
        return months(now, int(found["year"]) * 12 + first, 3)
    return choose(now, _which(found), lambda years: months(now, (now.year + years) * 12 + first, 3))


def _quarter(found: re.Match[str], now: datetime) -> Window:
    return months(now, int(found["year"]) * 12 + 3 * (int(found["quarter"]) - 1), 3)


def _year(found: re.Match[str], now: datetime) -> Window:
    return months(now, int(found["year"]) * 12, 12)


def _decade(found: re.Match[str], now: datetime) -> Window:
    year = int(found["year"])
    if year < 100:
        year += 2000 if 2000 + year <= now.year else 1900
    return months(now, year * 12, 120)


def _weekday(found: re.Match[str], now: datetime) -> Window | None:
    number = WEEKDAYS.index(found["weekday"].lower())
    return choose(now, _which(found), lambda weeks: week_day(now, number, weeks))


def _named_day(found: re.Match[str], now: datetime) -> Window:
    days, from_hour, hours = NAMED_DAYS[found[0].lower().removeprefix("the ")]
    start = day(now, days)[0] + timedelta(hours=from_hour)
    return start, start + timedelta(hours=hours)


def _calendar_unit(found: re.Match[str], now: datetime) -> Window:
    step = {"last": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}[_which(found)]
    match found["unit"].lower():
        case "week":
            return week_day(now, 0, step, 7)
        case "weekend":
            return week_day(now, 5, step, 2)
        case "month":
            return months(now, now.year * 12 + now.month - 1 + step)
        case "quarter":
            return months(now, now.year * 12 + (now.month - 1) // 3 * 3 + 3 * step, 3)
        case "decade":
            return months(now, (now.year // 10 * 10 + 10 * step) * 12, 120)
        case _:
            return months(now, (now.year + step) * 12, 12)


def _ago(found: re.Match[str], now: datetime) -> Window:
    """Two weeks ago: the window of one unit around that moment."""
    nearest, farthest = (around(moved(now, _unit(found), -count), _unit(found)) for count in _counts(found))
    return farthest[0], nearest[1]


def _ahead(found: re.Match[str], now: datetime) -> Window:
    """In a few days: the window of one unit around that moment."""
    nearest, farthest = (around(moved(now, _unit(found), count), _unit(found)) for count in _counts(found))
    return nearest[0], farthest[1]


def _stretch(found: re.Match[str], now: datetime) -> Window:
    """The last three months, the past week, the next few days: from or until now."""
    is_ahead = found["which"].lower() == "next"
    bound = moved(now, _unit(found), (1 if is_ahead else -1) * max(_counts(found)))
    if _unit(found) not in ("minute", "hour"):
        bound = day(bound)[int(is_ahead)]
    return (now, bound) if is_ahead else (bound, now)


def _which(found: re.Match[str]) -> str:
    return (found["which"] or "").lower().split(" ")[-1]


def _unit(found: re.Match[str]) -> str:
    return found["unit"].lower().removesuffix("s")


def _counts(found: re.Match[str]) -> tuple[int, int]:
    """The smallest and the largest number that the expression may mean."""
    word = (found.groupdict().get("count") or "one").lower()
    return (int(word), int(word)) if word.isdecimal() else NUMBERS[word]


def _month_number(name: str) -> int:
    return MONTH_NAMES.index(name[:3].lower()) + 1 if name.isalpha() else int(name)


MONTH_NAMES = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
# The first month, counted from 0; winter reaches into the next year.
SEASONS = {"spring": 2, "summer": 5, "autumn": 8, "fall": 8, "winter": 11}
# Days from today, the first hour, and how many hours.
NAMED_DAYS = {
    "today": (0, 0, 24),
    "yesterday": (-1, 0, 24),
    "tomorrow": (1, 0, 24),
    "day before yesterday": (-2, 0, 24),
    "day after tomorrow": (2, 0, 24),
    "last night": (-1, 18, 12),
    "tonight": (0, 18, 12),
    "this morning": (0, 5, 7),
    "this afternoon": (0, 12, 6),
    "this evening": (0, 18, 6),
}
_NUMBERS_TEXT = "one two three four five six seven eight nine ten eleven twelve"
# The smallest and the largest number that a word may mean.
NUMBERS = {word: (number, number) for number, word in enumerate(_NUMBERS_TEXT.split(), start=1)} | {
    "a": (1, 1),
    "an": (1, 1),
    "a couple of": (2, 2),
    "couple of": (2, 2),
    "a few": (2, 5),
    "few": (2, 5),
    "several": (3, 7),
}

_YEAR = r"(?P<year>(?:1[5-9]|20|21)\d\d)\b(?![-/]\d)"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_MONTH = (
    r"\b(?P<month>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_WEEKDAY = f"(?P<weekday>{'|'.join(WEEKDAYS)})"
_SEASON = r"(?P<season>spring|summer|autumn|fall|winter)\b"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(map(re.escape, NUMBERS), key=len, reverse=True))})"
_UNIT = r"(?P<unit>minute|hour|day|week|month|year|decade)s?\b"
_RELATIVE = r"this past|this coming|last|past|previous|this|next|coming"
_IN = r"in|since|during|by|from|until|till|before|after|around|of|early|mid|late"

# A case-insensitive pattern matches these letters like English ones.
_PLAIN_LETTERS = str.maketrans("\u0130\u0131\u017f\u212a", "IisK")
# Every rule matches a digit or a word that contains one of these.
_PARTS = (
    *MONTH_NAMES,
    *SEASONS,
    *("day", "tomorrow", "night", "morning", "noon", "evening"),
    *("minute", "hour", "week", "month", "quarter", "year", "decade"),
)
_DIGIT = re.compile(r"\d")

_TIME = r"(?P<time>\d\d:\d\d(?::\d\d)?)(?:\.\d+)?(?P<zone>Z|[+-]\d\d:?\d\d)?"

_SOURCES: list[tuple[TimeKind, str, Resolve]] = [
    (
        "clock",
        r"\b(?P<date>\d{4}-\d\d-\d\d)[T ](?P<time>\d\d:\d\d(?::\d\d)?)(?:\.\d+)?(?P<zone>Z|[+-]\d\d:?\d\d)?",
        _clock,
    ),
    ("day", r"\b(?P<year>\d{4})-(?P<month>[01]\d)-(?P<day>[0-3]\d)\b", _date),
    ("day", r"\b(?P<year>\d{4})/(?P<month>[01]?\d)/(?P<day>[0-3]?\d)\b", _date),
    (
        "day",
        r"(?<![\d/.])(?P<first>[0-3]?\d)(?P<sign>[/.])(?P<second>[0-3]?\d)(?P=sign)(?P<year>\d{4})\b",
        _slashed,
    ),
    ("day", rf"\b(?:{_WEEKDAY},? )?(?:the )?{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?", _date),
    ("day", rf"(?:\b{_WEEKDAY},? )?{_MONTH} (?:the )?{_DAY}\b(?!:)(?:,? {_YEAR})?", _date),
    ("month", r"\b(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])\b(?!-)", _month),
    ("month", rf"{_MONTH},? (?:of )?{_YEAR}", _month),
    ("month", rf"\b(?P<which>{_RELATIVE}|{_IN}) {_MONTH}(?! \d)", _month),
    ("month", r"\b(?P<month>January|February|July|September|October|November|December)\b(?! \d)", _month),
    ("season", rf"\b(?:(?:{_IN}) )?(?:the )?{_SEASON} (?:of )?{_YEAR}", _season),
    ("season", rf"\b(?P<which>{_RELATIVE}|(?:{_IN}) the) {_SEASON}", _season),
    ("month", rf"\bQ(?P<quarter>[1-4])(?:,? | of ){_YEAR}", _quarter),
    ("year", rf"\b(?:{_IN}|year)(?: early| mid| late)?[ -]{_YEAR}", _year),
    ("span", r"\b(?P<year>(?:1[5-9]|20)\d0)s\b", _decade),
    ("span", r"\bthe ['’]?(?P<year>[1-9]0)s\b", _decade),
    ("day", rf"\b(?:(?P<which>{_RELATIVE}|{_IN}|on|every) )?{_WEEKDAY}\b", _weekday),
    ("day", rf"\b(?:the )?(?:{'|'.join(sorted(NAMED_DAYS, key=len, reverse=True))})\b", _named_day),
    ("week", r"\b(?P<which>last|previous|this|next|coming) (?P<unit>weekend|week)\b", _calendar_unit),
    ("month", r"\b(?P<which>last|previous|this|next|coming) (?P<unit>month|quarter)\b", _calendar_unit),
    ("year", r"\b(?P<which>last|previous|this|next|coming) (?P<unit>year|decade)\b", _calendar_unit),
    ("span", rf"\b{_COUNT} {_UNIT} ago\b", _ago),
    ("span", rf"\bin {_COUNT} {_UNIT}", _ahead),
    ("span", rf"\b{_COUNT} {_UNIT} from now\b", _ahead),
    ("span", rf"\b(?P<which>last|past|next) {_COUNT} {_UNIT}", _stretch),
    ("span", rf"\b(?P<which>past) {_UNIT}", _stretch),
]
RULES = tuple((kind, re.compile(source, re.IGNORECASE), resolve) for kind, source, resolve in _SOURCES)
