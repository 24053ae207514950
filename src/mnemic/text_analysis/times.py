"""Rules that detect single dates and time expressions and resolve them to time windows.

A rule is a pattern and a function that computes the window from the match and the moment from which relative
expressions count. `time_spans.py` joins what is detected here to ranges and takes parts of it. Conventions:
a week begins on Monday; seasons are those of the north, three whole months each; "next Tuesday" is the first
one after today; a date, weekday or month without a year is the one nearest to the moment, unless the caller
wants the last or the next one; "two weeks ago" is the week around that day. Ambiguous dates (3/4/2024) are
ignored.

dateparser was tried first: it returns moments, not windows ("March 2024" is the 15th), takes "may" for a
month, misses seasons and weekends, and adds 0.4 s to the first call.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from mnemic.text_analysis.time_windows import Window, around, choose, day, months, moved, week_day
from mnemic.text_analysis.time_words import (
    AHEAD,
    BEFORE,
    CALENDAR_UNITS,
    COUNTED_UNITS,
    EVERY,
    HERE,
    MONTHS,
    MONTHS_ALONE,
    MONTHS_THAT_ARE_WORDS,
    NAMED_DAYS,
    NUMBERS,
    RECENTLY,
    SEASONS,
    UNITS,
    WEEKDAYS,
    WHICH,
    WHICH_BEHIND,
    one_of,
    plain_letters,
)

TimeKind = Literal["clock", "day", "week", "month", "season", "year", "span", "recent"]
Lean = Literal["past", "nearest", "future"]
RECENT_DAYS = 30
"""What "recently" covers."""


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


@dataclass(frozen=True, slots=True)
class Anchor:
    """The moment that relative times count from, and which of several days without a year is meant."""

    now: datetime
    lean: Lean = "nearest"

    def choose(self, step: int | None, window_of: Callable[[int], Window]) -> Window | None:
        """Choose among windows that recur every year, month or week."""
        return choose(self.now, self.lean, step, window_of)


Resolve = Callable[[re.Match[str], Anchor], Window | None]


def times_in(text: str, anchor: Anchor) -> Iterator[DetectedTime]:
    """Every match of every rule; matches may overlap. Days are those of the anchor's time zone."""
    plain = plain_letters(text)
    if not _may_name_a_time(plain):
        return
    words = frozenset(_WORD.findall(plain.lower()))
    for kind, pattern, resolve, needed in RULES:
        if needed is not None and needed.isdisjoint(words):
            continue
        for found in pattern.finditer(plain):
            try:
                window = resolve(found, anchor)
                if window is not None:
                    start, end = (bound.astimezone(UTC) for bound in window)
                    named = text[found.start() : found.end()]
                    yield DetectedTime(named, *found.span(), kind, TimeWindow(start, end))
            except (ValueError, OverflowError):  # 31 February, or beyond the years 1 to 9999
                continue


def _may_name_a_time(text: str) -> bool:
    """Whether any rule can match: most texts have no time, and trying every rule takes ten times as long."""
    return _PARTS.search(text) is not None


def _clock(found: re.Match[str], anchor: Anchor) -> Window:
    at = datetime.fromisoformat(f"{found['date']}T{found['time']}{found['zone'] or ''}")
    zone = anchor.now.tzinfo
    at = at.astimezone(zone) if at.tzinfo else at.replace(tzinfo=zone)
    return at, at + timedelta(seconds=1 if found["time"].count(":") == 2 else 60)


def _date(found: re.Match[str], anchor: Anchor) -> Window | None:
    groups = found.groupdict()
    if not groups.get("year") and not _is_month_in_date(found):
        return None
    first = _day_of_year(found, anchor, groups.get("first") or found["day"])
    last = _day_of_year(found, anchor, found["day"])
    return (first[0], last[1]) if first and last and first[0] < last[1] else None


def _day_of_year(found: re.Match[str], anchor: Anchor, number: str) -> Window | None:
    """One day, of the year that the date names or of the one that is meant."""
    now, month, year = anchor.now, _month_number(found["month"]), found.groupdict().get("year")
    if year:
        return day(now.replace(year=int(year), month=month, day=int(number)))
    return anchor.choose(None, lambda years: day(_replaced(now, now.year + years, month, int(number))))


def _replaced(now: datetime, year: int, month: int, number: int) -> datetime:
    """That day; 29 February is the last day of the month in other years."""
    if (month, number) == (2, 29):
        return months(now, year * 12 + 1)[1] - timedelta(days=1)
    return now.replace(year=year, month=month, day=number)


def _is_month_in_date(found: re.Match[str]) -> bool:
    """Whether the month of a date is one: "may 5 people" is no date; "May 5", "on may 5", "may 5th" are."""
    name = found["month"]
    if name.casefold() not in MONTHS_THAT_ARE_WORDS or name[0].isupper():
        return True
    is_ordinal = _ORDINAL.search(found[0]) is not None
    return (
        is_ordinal or _BEFORE_DATE.search(found.string, max(0, found.start() - 12), found.start()) is not None
    )


def _day_of_month(found: re.Match[str], anchor: Anchor) -> Window | None:
    """On the 3rd, between the 3rd and the 9th: of the month that is meant."""
    now = anchor.now
    first, last = int(found.groupdict().get("first") or found["day"]), int(found["day"])

    def window_of(index: int) -> Window:
        start, end = months(now, now.year * 12 + now.month - 1 + index)
        window = day(start, first - 1)[0], day(start, last - 1)[1]
        return window if window[1] <= end else (end - timedelta(days=1), end)

    return anchor.choose(None, window_of) if 1 <= first <= last <= 31 else None


def _slashed(found: re.Match[str], anchor: Anchor) -> Window | None:
    first, second, year = int(found["first"]), int(found["second"]), int(found["year"])
    now = anchor.now
    if found["sign"] == "." or first > 12 or first == second:
        return day(now.replace(year=year, month=second, day=first))
    return day(now.replace(year=year, month=first, day=second)) if second > 12 else None


def _month(found: re.Match[str], anchor: Anchor) -> Window | None:
    now, name, groups = anchor.now, found["month"], found.groupdict()
    number = _month_number(name)
    if groups.get("year"):
        return months(now, int(found["year"]) * 12 + number - 1)
    is_word = name.casefold() in MONTHS_THAT_ARE_WORDS and not name[0].isupper()
    if (
        is_word
        and _BEFORE_MONTH.search(found.string, max(0, found.start("month") - 12), found.start("month"))
        is None
    ):
        return None
    return anchor.choose(_step(found), lambda years: months(now, (now.year + years) * 12 + number - 1))


def _season(found: re.Match[str], anchor: Anchor) -> Window | None:
    now, first = anchor.now, SEASONS[found["season"].casefold()]
    if found.groupdict().get("year"):
        return months(now, int(found["year"]) * 12 + first, 3)
    return anchor.choose(_step(found), lambda years: months(now, (now.year + years) * 12 + first, 3))


def _quarter(found: re.Match[str], anchor: Anchor) -> Window:
    return months(anchor.now, int(found["year"]) * 12 + 3 * (int(found["quarter"]) - 1), 3)


def _year(found: re.Match[str], anchor: Anchor) -> Window | None:
    last = int(found["year"])
    first = int(found.groupdict().get("first") or last)
    return months(anchor.now, first * 12, 12 * (last - first + 1)) if first <= last else None


def _decade(found: re.Match[str], anchor: Anchor) -> Window:
    year = int(found["year"])
    if year < 100:
        year += 2000 if 2000 + year <= anchor.now.year else 1900
    return months(anchor.now, year * 12, 120)


def _weekday(found: re.Match[str], anchor: Anchor) -> Window | None:
    if found["every"]:
        return None
    number = WEEKDAYS[found["weekday"].casefold()]
    return anchor.choose(_step(found), lambda weeks: week_day(anchor.now, number, weeks))


def _named_day(found: re.Match[str], anchor: Anchor) -> Window:
    days, from_hour, hours = NAMED_DAYS[found["name"].casefold()]
    start = day(anchor.now, days)[0] + timedelta(hours=from_hour)
    return start, start + timedelta(hours=hours)


def _yesterday(found: re.Match[str], anchor: Anchor) -> Window | None:
    """French "hier", if the text does not look German, where it means "here"."""
    return day(anchor.now, -1) if _FRENCH.search(found.string) else None


def _tomorrow(_found: re.Match[str], anchor: Anchor) -> Window:
    return day(anchor.now, 1)


def _recently(_found: re.Match[str], anchor: Anchor) -> Window:
    return day(anchor.now, -RECENT_DAYS)[0], anchor.now


def _the_other_day(_found: re.Match[str], anchor: Anchor) -> Window:
    return day(anchor.now, -10)[0], day(anchor.now)[0]


def _calendar_unit(found: re.Match[str], anchor: Anchor) -> Window:
    return calendar_window(anchor.now, UNITS[found["unit"].casefold()], _step(found) or HERE)


def _before_last(found: re.Match[str], anchor: Anchor) -> Window:
    return calendar_window(anchor.now, UNITS[found["unit"].casefold()], 2 * BEFORE)


def calendar_window(now: datetime, unit: str, step: int) -> Window:
    """The calendar week, weekend, month, quarter, year or decade `step` units from the current one."""
    match unit:
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


def _ago(found: re.Match[str], anchor: Anchor) -> Window:
    """Two weeks ago: the window of one unit around that moment."""
    unit = _unit(found)
    nearest, farthest = (around(moved(anchor.now, unit, -count), unit) for count in _counts(found))
    return farthest[0], nearest[1]


def _ahead(found: re.Match[str], anchor: Anchor) -> Window:
    """In a few days: the window of one unit around that moment."""
    unit = _unit(found)
    nearest, farthest = (around(moved(anchor.now, unit, count), unit) for count in _counts(found))
    return nearest[0], farthest[1]


def _stretch(found: re.Match[str], anchor: Anchor) -> Window:
    """The last three months, the past week, the next few days: from or until now."""
    now, unit = anchor.now, _unit(found)
    is_ahead = (found.groupdict().get("which") or "").casefold() == "next"
    bound = moved(now, unit, (AHEAD if is_ahead else BEFORE) * max(_counts(found)))
    if unit not in ("minute", "hour"):
        bound = day(bound)[int(is_ahead)]
    return (now, bound) if is_ahead else (bound, now)


def _step(found: re.Match[str]) -> int | None:
    """-1 for "last", 0 for "this", 1 for "next", None without such a word."""
    groups = found.groupdict()
    if behind := groups.get("behind"):
        return WHICH_BEHIND[behind.casefold()]
    return WHICH.get((groups.get("which") or "").casefold())


def _unit(found: re.Match[str]) -> str:
    return UNITS[found["unit"].casefold()]


def _counts(found: re.Match[str]) -> tuple[int, int]:
    """The smallest and the largest number that the expression may mean."""
    word = (found.groupdict().get("count") or "one").casefold()
    return (int(word), int(word)) if word.isdecimal() else NUMBERS[word]


def _month_number(name: str) -> int:
    return MONTHS[name.casefold()] if name.isalpha() else int(name)


def _after_one_of(words: str) -> str:
    """A lookbehind for one of the words and a space or hyphen.

    What follows is a word, so only beginnings of words are tried, which takes a fifth of the time.
    """
    return r"\b(?:" + "|".join(rf"(?<=\b{word.replace('_', ' ')}[ -])" for word in words.split()) + ")"


_YEAR_NUMBER = r"(?:1[5-9]|20|21)\d\d"
_YEAR = rf"(?P<year>{_YEAR_NUMBER})\b(?![-/]\d)"
_DAY_NUMBER = r"(?:3[01]|[12]\d|0?[1-9])"
_BEHIND_DAY = r"(?:st|nd|rd|th|er|\.|º)?"
_DAY = rf"(?P<day>{_DAY_NUMBER}){_BEHIND_DAY}"
_FIRST_DAY = rf"(?P<first>{_DAY_NUMBER}){_BEHIND_DAY}"
_MONTH = rf"\b(?P<month>{one_of(MONTHS)})\b\.?"
_WEEKDAY = rf"(?P<weekday>{one_of(WEEKDAYS)})"
_SEASON = rf"(?P<season>{one_of(SEASONS)})\b"
_COUNT = rf"(?P<count>\d{{1,3}}|{one_of(NUMBERS)})"
_UNIT = rf"(?P<unit>{one_of(COUNTED_UNITS)})\b"
_CALENDAR_UNIT = rf"(?P<unit>{one_of(CALENDAR_UNITS)})\b"
_WHICH = rf"\b(?P<which>{one_of(WHICH)})"
_BEHIND = rf"(?P<behind>{one_of(WHICH_BEHIND)})\b"
_OF = "(?:of |de |del )?"
_THE = "(?:the |el |la |le |dem |den |der |l')?"
_TO = "(?: ?[-–—] ?| (?:to|until|till|through|thru|and|y|al|a|bis|und|et|au) )"
_OF_YEAR = rf"(?:,? {_OF}{_YEAR})?"
_IN = (
    "in since during by from until till before after around of early mid late between and to over"
    " en de desde hasta im seit ab bis anfang mitte ende depuis debut fin mi avant apres"
)
_IN_YEAR = (
    "in since during by from until till before after around as_of early mid late year end_of start_of"
    " half_of beginning_of middle_of week_of month_of summer_of"
    " en desde hasta de seit jahr bis depuis avant apres ano"
)
_IN_SEASON = "in during over since until by from of before after en im durante seit depuis pendant"

_WORD = re.compile(r"\w+")
_ORDINAL = re.compile(r"\d(?:st|nd|rd|th)\b")
_BEFORE_DATE = re.compile(
    r"\b(?:on|between|from|since|before|after|until|till|by|and|to|of|the) $", re.IGNORECASE
)
_BEFORE_MONTH = re.compile(
    r"\b(?:in|since|during|until|of|last|next|early|late|mid|between|and|to|from)[ -]$", re.IGNORECASE
)
_FRENCH = re.compile(
    r"\b(?:je|j'|tu|il|elle|on|nous|vous|qu'|que|quoi|qui|ai|est-ce|le|la|les|du|une|s'est|avec|pour|mon|ma|mes)\b"
    r"|\bhier (?:soir|matin|apres|apres-midi)|j'ai|qu'",
    re.IGNORECASE,
)
# Every rule matches a digit or a word that has one of these in it.
_PARTS = re.compile(
    r"\d|day|noon|manana|morgen|hier|tomorrow|fin de semana|other day"
    rf"|\b(?:{one_of(NAMED_DAYS)}|{one_of(MONTHS)}|{one_of(WEEKDAYS)}|{one_of(SEASONS)}"
    rf"|{one_of(set(UNITS) - {'an'})}|an dernier|un an|{one_of(RECENTLY)})\b",
    re.IGNORECASE,
)

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
    ("day", rf"\b(?:{_WEEKDAY},? )?{_THE}{_DAY} {_OF}{_MONTH}{_OF_YEAR}", _date),
    ("day", rf"(?:\b{_WEEKDAY},? )?{_MONTH} (?:the )?{_DAY}\b(?![:/])(?:,? {_YEAR})?", _date),
    ("span", rf"\b{_THE}{_FIRST_DAY}{_TO}{_THE}{_DAY} {_OF}{_MONTH}{_OF_YEAR}", _date),
    ("span", rf"{_MONTH} (?:the )?{_FIRST_DAY}{_TO}(?:the )?{_DAY}\b(?![:/])(?:,? {_YEAR})?", _date),
    ("day", r"(?<=\bon )the (?P<day>\d\d?)(?:st|nd|rd|th)\b(?=[?.!,;]|$)", _day_of_month),
    (
        "span",
        r"\bthe (?P<first>\d\d?)(?:st|nd|rd|th) (?:and|to|until|till|through)"
        r" the (?P<day>\d\d?)(?:st|nd|rd|th)\b",
        _day_of_month,
    ),
    ("month", r"\b(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])\b(?!-)", _month),
    ("month", rf"{_MONTH},? {_OF}{_YEAR}", _month),
    ("month", rf"{_WHICH} {_MONTH}(?! \d)", _month),
    ("month", rf"{_after_one_of(_IN)}{_MONTH}(?! \d)(?: {_BEHIND})?", _month),
    ("month", rf"\b(?P<month>{one_of(MONTHS_ALONE)})\b(?! \d)", _month),
    ("season", rf"\b{_THE}{_SEASON} {_OF}{_YEAR}", _season),
    ("season", rf"{_WHICH} {_SEASON}", _season),
    (
        "season",
        rf"{_after_one_of(_IN_SEASON)}{_THE}{_SEASON}(?! {_OF}{_YEAR_NUMBER})(?: {_BEHIND})?",
        _season,
    ),
    ("month", rf"\bQ(?P<quarter>[1-4])(?:,? | of ){_YEAR}", _quarter),
    ("year", rf"{_after_one_of(_IN_YEAR)}{_YEAR}", _year),
    ("span", rf"\b(?:between|from|entre|zwischen|von) (?P<first>{_YEAR_NUMBER}){_TO}{_YEAR}", _year),
    ("span", r"\b(?P<year>(?:1[5-9]|20)\d0)s\b", _decade),
    ("span", r"\bthe '?(?P<year>[1-9]0)s\b", _decade),
    (
        "day",
        rf"\b(?:(?:(?P<every>{one_of(EVERY)})|(?P<which>{one_of(WHICH)})) )?{_WEEKDAY}\b(?: {_BEHIND})?",
        _weekday,
    ),
    ("day", rf"\b(?:the )?(?P<name>{one_of(NAMED_DAYS)})\b", _named_day),
    ("day", r"(?<!avant-)\bhier\b", _yesterday),
    (
        "day",
        r"(?<!\bla )(?<!\besta )(?<!\bpasado )\bmanana\b|(?<!\bguten )(?<!\bam )(?<!\bheute )\bmorgen\b",
        _tomorrow,
    ),
    ("recent", rf"\b(?:{one_of(RECENTLY)})\b", _recently),
    ("span", r"\bthe other day\b", _the_other_day),
    ("week", rf"{_WHICH} {_CALENDAR_UNIT}", _calendar_unit),
    ("week", rf"\b{_THE}{_CALENDAR_UNIT} {_BEHIND}", _calendar_unit),
    ("week", r"\bthe (?P<unit>week|weekend|month|quarter|year) before last\b", _before_last),
    ("week", r"(?<=\bof )the (?P<unit>week|month|quarter|year)\b(?! of)", _calendar_unit),
    ("span", rf"\b{_COUNT} {_UNIT} ago\b", _ago),
    ("span", rf"\b(?:hace|vor|il y a) {_COUNT} {_UNIT}", _ago),
    ("span", rf"\bin {_COUNT} {_UNIT}", _ahead),
    ("span", rf"\b{_COUNT} {_UNIT} from now\b", _ahead),
    ("span", rf"\b(?:the )?(?P<which>last|past|next) {_COUNT} {_UNIT}", _stretch),
    ("span", rf"\b(?:los|las|den|die|der) (?:ultimos|ultimas|letzten) {_COUNT} {_UNIT}", _stretch),
    ("span", rf"\b(?:les|ces) {_COUNT} (?:derniers|dernieres) {_UNIT}", _stretch),
    ("span", rf"\b(?:the )?(?P<which>past) {_UNIT}", _stretch),
    ("span", r"\b(?:the )?(?P<which>last) (?P<unit>hour|minute)\b", _stretch),
    ("span", rf"\b(?:in|over|during|within) the (?P<which>last|past) {_UNIT}", _stretch),
]
_NAMES: tuple[Iterable[str], ...] = (MONTHS, SEASONS, COUNTED_UNITS, CALENDAR_UNITS, WEEKDAYS, NAMED_DAYS)


def _needed(source: str) -> frozenset[str] | None:
    """Words of which a text has one wherever this pattern matches; None for patterns without such words.

    Comparing words takes a tenth of the time that searching for a pattern with a hundred alternatives does,
    and a long question with a number in it would be searched for all of them.
    """
    for names in _NAMES:
        if one_of(names) in source:
            # A weekday before a date may be missing, but the month is not: the first names count.
            return frozenset(_WORD.findall(name)[0] for name in names)
    return None


RULES = tuple(
    (kind, re.compile(source, re.IGNORECASE), resolve, _needed(source)) for kind, source, resolve in _SOURCES
)
