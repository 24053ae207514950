"""Parse cron expressions into the numbers that their five fields stand for.

A field is ``*`` or a list, with commas, of values and ranges; ``*`` and ranges may have a step:
``0,30``, ``8-18``, ``*/15``, ``mon-fri``. Months and days of the week have names; Sunday is 0 and 7. A few
expressions have names of their own: ``@hourly``, ``@daily``, ``@weekly``, ``@monthly``, ``@yearly``.

As in Unix cron, a day must match both the day of the month and the day of the week, unless both are
restricted: then one of the two is enough.

This module only parses. The database computes the next tick (`mnemic.cron_time`), by its own clock and its
own list of time zones.
"""

from dataclasses import dataclass
from typing import NoReturn

from mnemic.errors import InvalidInputError

CRON_MAX_CHARACTERS = 256

NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]


@dataclass(frozen=True)
class Field:
    """One of the five fields: its title, its range of numbers, and names for some of them."""

    title: str
    lowest: int
    highest: int
    names: tuple[str, ...] = ()


FIELDS = (
    Field("minute", 0, 59),
    Field("hour", 0, 23),
    Field("day of the month", 1, 31),
    Field("month", 1, 12, ("", *_MONTHS)),
    Field("day of the week", 0, 7, tuple(_WEEKDAYS)),
)


@dataclass(frozen=True)
class Cron:
    """When to tick. `either_day`: a day needs to be in one of `days` and `weekdays`, else in both."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    either_day: bool


def parse_cron(text: object) -> Cron:
    """Parse an expression; InvalidInputError says which field is wrong and why."""
    if not isinstance(text, str) or len(text) > CRON_MAX_CHARACTERS:
        raise InvalidInputError(f"cron must be text of at most {CRON_MAX_CHARACTERS} characters.")
    parts = NAMED.get(text.strip().lower(), text).split()
    if len(parts) != len(FIELDS):
        raise InvalidInputError(
            "cron must have five fields (minute, hour, day of the month, month, day of the week) such as "
            f"'30 3 * * mon-fri', or be one of {', '.join(NAMED)}; it has {len(parts)} field(s)."
        )
    minutes, hours, days, months, weekdays = map(_numbers, FIELDS, parts)
    return Cron(
        minutes,
        hours,
        days,
        months,
        tuple(sorted({day % 7 for day in weekdays})),
        either_day=not parts[2].startswith("*") and not parts[4].startswith("*"),
    )


def _numbers(field: Field, text: str) -> tuple[int, ...]:
    """All numbers that a field stands for, in order."""
    return tuple(sorted({number for item in text.split(",") for number in _item(field, item)}))


def _item(field: Field, item: str) -> range:
    """One item of a list: `*`, a value or a range, `*` and ranges optionally with a step."""
    span, slash, step = item.partition("/")
    first, dash, last = span.partition("-")
    if slash and not (step.isascii() and step.isdigit() and int(step) > 0):
        _refuse(field, item, "a step is a whole number above 0")
    if span == "*":
        low, high = field.lowest, field.highest
    else:
        if slash and not dash:
            _refuse(field, item, f"a step needs * or a range, such as {span}-{field.highest}/{step}")
        low = _value(field, first)
        high = _value(field, last) if dash else low
    if high < low:
        _refuse(field, item, "a range goes from the smaller to the larger value")
    return range(low, high + 1, int(step) if slash else 1)


def _value(field: Field, text: str) -> int:
    if text and text.lower() in field.names:
        return field.names.index(text.lower())
    if text.isascii() and text.isdigit() and field.lowest <= int(text) <= field.highest:
        return int(text)
    named = [name for name in field.names if name]
    names = f" or {named[0]} to {named[-1]}" if named else ""
    _refuse(field, text, f"it must be {field.lowest} to {field.highest}{names}")


def _refuse(field: Field, item: str, reason: str) -> NoReturn:
    raise InvalidInputError(f"cron: {item[:40]!a} is no {field.title}: {reason}.")
