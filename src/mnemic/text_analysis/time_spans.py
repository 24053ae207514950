"""Joins single times to what a text says with them: parts, ranges and open ends.

`times.py` detects "May", "the 9th of May", "yesterday". Words around them change what is meant: "the first
week of May", "mid-May", "yesterday evening", "between May 3 and May 9", "since May". Each step looks only
at the few characters before, behind or between detected times, so the work grows with their number.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import zip_longest

from mnemic.text_analysis.time_windows import around, day, moved, week_day
from mnemic.text_analysis.time_words import (
    COUNTED_UNITS,
    DAY_PARTS,
    MONTHS,
    NUMBERS,
    ORDINALS,
    SEASONS,
    UNITS,
    WEEKDAYS,
    one_of,
    plain_letters,
)
from mnemic.text_analysis.times import Anchor, DetectedTime, TimeKind, TimeWindow

LOOK_BACK = 40
"""How many characters before a time are read."""
BEGINNING = datetime(1, 1, 2, tzinfo=UTC)
END = datetime(9999, 12, 30, tzinfo=UTC)
"""The bounds of windows that have no other."""

Redetect = Callable[[str, Anchor], Sequence[DetectedTime]]


def joined_times(
    text: str, times: Sequence[DetectedTime], anchor: Anchor, redetect: Redetect
) -> list[DetectedTime]:
    """The times with the words around them; `redetect` resolves one again, from another moment."""
    plain = plain_letters(text)
    parts = [_with_part(plain, time, anchor) for time in times]
    ranged = list(_ranges(plain, parts, anchor, redetect))
    opened = [_with_open_end(plain, time, anchor) for time in ranged]
    covered = [_with_preposition(plain, time) for time in opened]
    return [
        replace(time, text=text[time.start : time.end])
        for time, after in zip_longest(covered, covered[1:])
        if after is None or time.start < after.start
    ]


def calendar_words(time: DetectedTime) -> str:
    """The words of a time that a memory about it may have, too: dates, months, weekdays, seasons and years.

    A single date stays as it is written ("on 3 May"); the numbers of a range say nothing by themselves.
    """
    words = list(_CALENDAR_WORD.finditer(plain_letters(time.text)))
    if words and time.kind in ("day", "month", "season", "year"):
        return time.text
    return " ".join(time.text[word.start() : word.end()] for word in words)


def _with_part(text: str, time: DetectedTime, anchor: Anchor) -> DetectedTime:
    """A part of a day, month or year: "on Monday morning", "mid-May", "the first week of May"."""
    zone = anchor.now.tzinfo
    if time.kind == "day" and (behind := _PART_BEHIND.match(text, time.end)):
        window = _day_part(time.value, behind["part"], zone)
        return replace(time, end=behind.end(), value=window) if window else time
    for kind, pattern, part_of in _PARTS_BEFORE:
        before = pattern.search(text, max(0, time.start - LOOK_BACK), time.start)
        if before is not None and (window := part_of(before, time, zone)) is not None:
            return replace(time, start=before.start(), kind=kind, value=window)
    return time


def _day_part(value: TimeWindow, name: str, zone: tzinfo | None) -> TimeWindow | None:
    """The hours of a part of the day; None if the window is a part of one already."""
    start = value.start.astimezone(zone)
    if day(start) != (start, value.end):
        return None
    from_hour, hours = DAY_PARTS[name.casefold()]
    return _window(start + timedelta(hours=from_hour), start + timedelta(hours=from_hour + hours))


def _part_of_day(before: re.Match[str], time: DetectedTime, zone: tzinfo | None) -> TimeWindow | None:
    return _day_part(time.value, before["part"], zone) if time.kind == "day" else None


def _week_of(_before: re.Match[str], time: DetectedTime, zone: tzinfo | None) -> TimeWindow | None:
    if time.kind != "day":
        return None
    return _window(*week_day(time.value.start.astimezone(zone), 0, 0, 7))


def _numbered_week(before: re.Match[str], time: DetectedTime, zone: tzinfo | None) -> TimeWindow | None:
    """The first week: the first seven days. The last one: the last seven."""
    start, end = _local(time.value, zone)
    if not _is_month_or_longer(time):
        return None
    number = ORDINALS[before["number"].casefold()]
    first = day(end, -7)[0] if number < 0 else day(start, 7 * number)[0]
    return _window(first, min(day(first, 7)[0], end))


def _third(before: re.Match[str], time: DetectedTime, zone: tzinfo | None) -> TimeWindow | None:
    """The beginning, the middle or the end of a week, month, year or season."""
    if time.kind in ("clock", "day"):
        return None
    start, end = _local(time.value, zone)
    length = end - start
    place = next(place for place, group in enumerate(("early", "middle", "late")) if before[group])
    return _window(*(day(start + length * third / 3)[0] for third in (place, place + 1)))


def _half(before: re.Match[str], time: DetectedTime, zone: tzinfo | None) -> TimeWindow | None:
    if not _is_month_or_longer(time):
        return None
    start, end = _local(time.value, zone)
    middle = day(start + (end - start) / 2)[0]
    return _window(middle, end) if before["second"] else _window(start, middle)


def _unit_before(before: re.Match[str], time: DetectedTime, zone: tzinfo | None) -> TimeWindow | None:
    """The week before 3 August, two weeks after 11 August; with that day, on which it may have been told."""
    if time.kind != "day":
        return None
    start, end = _local(time.value, zone)
    unit, word = UNITS[before["unit"].casefold()], before["count"]
    counts = (int(word),) if word and word.isdecimal() else NUMBERS[(word or "one").casefold()]
    if before["side"].casefold() == "after":
        return _window(
            start, around(moved(start, unit, max(counts)), unit)[1] if word else moved(end, unit, 1)
        )
    return _window(around(moved(start, unit, -max(counts)), unit)[0] if word else moved(start, unit, -1), end)


def _ranges(
    text: str, times: Sequence[DetectedTime], anchor: Anchor, redetect: Redetect
) -> Iterator[DetectedTime]:
    """Two times that are the bounds of a range become one."""
    waiting: DetectedTime | None = None
    for time in times:
        if waiting is None:
            waiting = time
            continue
        joined = _range(text, waiting, time, anchor, redetect)
        if joined is None:
            yield waiting
        waiting = joined or time
    if waiting is not None:
        yield waiting


def _range(
    text: str, first: DetectedTime, last: DetectedTime, anchor: Anchor, redetect: Redetect
) -> DetectedTime | None:
    gap = _GAP.fullmatch(text, first.end, last.start)
    opening = _OPENING.search(text, max(0, first.start - LOOK_BACK), first.start)
    if gap is None or (gap["and"] and opening is None):
        return None
    first, last = _in_one_year(first, last, anchor, redetect)
    if first.value.start >= last.value.end:
        return None
    start = opening.start() if opening is not None else first.start
    return DetectedTime("", start, last.end, "span", TimeWindow(first.value.start, last.value.end))


def _in_one_year(
    first: DetectedTime, last: DetectedTime, anchor: Anchor, redetect: Redetect
) -> tuple[DetectedTime, DetectedTime]:
    """Resolve the bound without a year again from the other one: "from May 3 to May 9, 2024"."""
    zone = anchor.now.tzinfo
    has_year = [_YEAR.search(time.text) is not None for time in (first, last)]
    if has_year == [True, False]:
        again = redetect(last.text, Anchor(first.value.start.astimezone(zone), "future"))
        last = replace(last, value=again[0].value) if again else last
    elif has_year == [False, True] or first.value.start >= last.value.end:
        again = redetect(first.text, Anchor(last.value.start.astimezone(zone), "past"))
        first = replace(first, value=again[0].value) if again else first
    return first, last


def _with_open_end(text: str, time: DetectedTime, anchor: Anchor) -> DetectedTime:
    """Since, before, after, until: a window without one of its bounds, or until now."""
    before = _OPEN_END.search(text, max(0, time.start - LOOK_BACK), time.start)
    if before is None:
        return time
    value = time.value
    now = anchor.now.astimezone(UTC)
    if before["since"]:
        value = TimeWindow(value.start, max(now, value.end))
    elif before["after"]:
        value = TimeWindow(value.end, now if value.end < now else END)
    else:
        value = TimeWindow(BEGINNING, value.end if before["until"] else value.start)
    return replace(time, start=before.start(), kind="span", value=value)


def _with_preposition(text: str, time: DetectedTime) -> DetectedTime:
    """The words that only lead to a time belong to it: "on Monday", "during the summer"."""
    before = _PREPOSITION.search(text, max(0, time.start - LOOK_BACK), time.start)
    return replace(time, start=before.start()) if before is not None else time


def _is_month_or_longer(time: DetectedTime) -> bool:
    return time.value.end - time.value.start >= timedelta(days=28)


def _local(value: TimeWindow, zone: tzinfo | None) -> tuple[datetime, datetime]:
    return value.start.astimezone(zone), value.end.astimezone(zone)


def _window(start: datetime, end: datetime) -> TimeWindow:
    return TimeWindow(start.astimezone(UTC), end.astimezone(UTC))


_THE = "(?:the |el |la |los |le |les |dem |den |der |die |das |l')?"
_OF = "(?:of |de |del |du |des |d'|im |vom |von )"
_PART = rf"(?P<part>{one_of(DAY_PARTS)})"
_PART_BEHIND = re.compile(
    rf",? (?:in the |por la |de la |en la |au |am |dans la |a la )?{_PART}\b(?! of\b)", re.IGNORECASE
)
_NUMBER = rf"(?P<number>{one_of(ORDINALS)})"
_EARLY = "early|beginning|start|principios|comienzos|inicios|anfang|beginn|debut"
_MIDDLE = "mid|middle|mediados|mitad|mitte|mi|milieu"
_LATE = "late|end|finales|fines|fin|ende"
_COUNT = rf"(?P<count>\d{{1,2}}|{one_of(NUMBERS)})"

PartOf = Callable[[re.Match[str], DetectedTime, tzinfo | None], TimeWindow | None]
_PARTS_BEFORE: tuple[tuple[TimeKind, re.Pattern[str], PartOf], ...] = tuple(
    ("day" if part_of is _part_of_day else "span", re.compile(source, re.IGNORECASE), part_of)
    for source, part_of in (
        (rf"\b{_THE}{_PART} {_OF}{_THE}$", _part_of_day),
        (rf"\b{_THE}(?:week|semana|woche|semaine) {_OF}{_THE}$", _week_of),
        (rf"\b{_THE}{_NUMBER} (?:week|semana|woche|semaine) {_OF}?{_THE}$", _numbered_week),
        (rf"\b{_THE}(?:first|(?P<second>second|last)) half {_OF}{_THE}$", _half),
        (
            rf"\b(?:a )?{_THE}(?:(?P<early>{_EARLY})|(?P<middle>{_MIDDLE})|(?P<late>{_LATE}))"
            rf"(?:-| |-{_OF}| {_OF}| (?:in|on|part of) ){_THE}$",
            _third,
        ),
        (
            rf"\b(?:the )?(?:{_COUNT} )?(?P<unit>{one_of(COUNTED_UNITS)}) (?P<side>before|after) $",
            _unit_before,
        ),
    )
)
_OPENING = re.compile(
    r"\b(?:between|from|entre|desde|del|de|zwischen|vom|von|du|depuis) " + _THE + "$", re.IGNORECASE
)
_GAP = re.compile(
    r" (?P<and>and|y|e|und|et) "
    + _THE
    + r"| ?[-–—] ?| (?:to|until|till|through|thru|up to|hasta|al?|bis|jusqu'au|au) "
    + _THE,
    re.IGNORECASE,
)
_OPEN_END = re.compile(
    r"\b(?:(?P<since>since|ever since|desde|seit|depuis|ab)"
    r"|(?P<until>until|till|up to|hasta|bis|jusqu'au|jusqu'a)"
    r"|(?P<after>after|despues de|despues del|nach|apres)|before|prior to|antes de|antes del|vor|avant) "
    + _THE
    + "$",
    re.IGNORECASE,
)
_PREPOSITION = re.compile(
    r"\b(?:(?:back|earlier|later|so far|even|only|just) )?"
    r"(?:in|on|at|during|over|by|from|between|around|of|about|for"
    r"|en|entre|del|durante|am|im|an|zwischen|vom|von|du|pendant|dans) "
    + _THE
    + r"$|\b(?:earlier|later|so far|the|el|la|le|am|im|den|dem) $",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\d{4}")
_NAMES = rf"{one_of(MONTHS)}|{one_of(WEEKDAYS)}|{one_of(SEASONS)}"
_CALENDAR_WORD = re.compile(rf"\b(?:{_NAMES}|(?:1[5-9]|20|21)\d\d)\b", re.IGNORECASE)
