"""Checks of single values that callers pass. Each one names the field and says what is allowed.

They run before anything is written, so that the database never has to refuse a value.
"""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time
from itertools import islice
from uuid import UUID

from mnemic.errors import InvalidInputError

TEXT_MAX_CHARACTERS = 1_000_000
EVIDENCE_MAX = 64
EVIDENCE_MAX_CHARACTERS = 1024
# Longest part of a refused value that a message quotes.
SHOWN_MAX_CHARACTERS = 40


def check_text(field: str, value: object, *, max_characters: int = TEXT_MAX_CHARACTERS) -> str:
    """Text that PostgreSQL can store: not blank, no NUL, no broken Unicode, not too long."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{field} must be text, not {type(value).__name__}.")
    if not value.strip():
        raise InvalidInputError(f"{field} must not be empty.")
    if len(value) > max_characters:
        raise InvalidInputError(f"{field} has {len(value):,} characters; the limit is {max_characters:,}.")
    if "\0" in value:
        raise InvalidInputError(f"{field} must not contain NUL characters.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{field} is not valid Unicode at character {error.start}: a lone surrogate."
        ) from None
    return value


def check_choice(field: str, value: object, allowed: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in allowed:
        raise InvalidInputError(f"{field} must be one of {', '.join(allowed)}, not {_shown(value)}.")
    return value


def check_choices(field: str, given: object, allowed: tuple[str, ...]) -> list[str] | None:
    """Some of a few words; None if they were not given. A single word stands for a list of it."""
    if given is None:
        return None
    values = [given] if isinstance(given, str) else given
    if not isinstance(values, Iterable):
        raise InvalidInputError(f"{field} must be a list, not {type(given).__name__}.")
    return [check_choice(field, value, allowed) for value in values]


def check_share(field: str, value: object) -> float:
    """A number from 0 to 1."""
    number = check_number(field, value)
    if not 0 <= number <= 1:
        raise InvalidInputError(f"{field} must be a number from 0 to 1, not {_shown(value)}.")
    return number


def check_number(field: str, value: object) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInputError(f"{field} must be a number, not {type(value).__name__}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInputError(f"{field} must be a finite number.")
    return number


def check_whole(field: str, value: object, lowest: int, highest: int) -> int:
    """A whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise InvalidInputError(f"{field} must be a whole number from {lowest:,} to {highest:,}.")
    return value


def check_time(field: str, value: object) -> datetime:
    """A moment, in UTC: an aware datetime, or ISO 8601 text.

    Text is a date and time with its time zone, or a bare date: midnight UTC at the start of that day.
    """
    return check_local_time(field, value).astimezone(UTC)


def check_local_time(field: str, value: object) -> datetime:
    """The same as `check_time`, in the time zone that the caller gave."""
    moment = _parse_time(field, value) if isinstance(value, str) else value
    if not isinstance(moment, datetime):
        raise InvalidInputError(f"{field} must be a datetime or ISO 8601 text, not {type(moment).__name__}.")
    if moment.utcoffset() is None:
        # Text may come from the command line or over HTTP, where there are no datetime objects.
        advice = "." if isinstance(value, str) else ", or pass an aware datetime."
        raise InvalidInputError(f"{field} has no time zone: write {moment.isoformat()}Z for UTC{advice}")
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise InvalidInputError(f"{field} must lie in the years 1 to 9999 of UTC.") from None
    return moment


def check_window(since: object, until: object) -> dict[str, datetime | None]:
    """The time window of a list: from `since` on, before `until`; None means unbounded."""
    bounds = {
        "since": check_time("since", since) if since is not None else None,
        "until": check_time("until", until) if until is not None else None,
    }
    if bounds["since"] and bounds["until"] and bounds["until"] <= bounds["since"]:
        raise InvalidInputError("until must be after since.")
    return bounds


def check_flag(field: str, value: object) -> bool:
    """True or False; other truthy or falsy values are refused."""
    if not isinstance(value, bool):
        raise InvalidInputError(f"{field} must be True or False, not {_shown(value)}.")
    return value


def check_id(field: str, value: object) -> UUID:
    """The id of a row, as a UUID or its text."""
    if isinstance(value, UUID):
        return value
    try:
        if isinstance(value, str):
            return UUID(value)
    except ValueError:
        pass
    raise InvalidInputError(f"{field} must be an id as Mnemic gives them (a UUID), not {_shown(value)}.")


def check_evidence(value: object) -> list[str]:
    """References: ids of memories, names of documents, URLs."""
    references = [value] if isinstance(value, str | UUID) else value
    if not isinstance(references, Iterable) or isinstance(references, Mapping | bytes):
        raise InvalidInputError("evidence must be a text, an id, or a list of them.")
    texts = [
        check_text(
            "evidence", str(item) if isinstance(item, UUID) else item, max_characters=EVIDENCE_MAX_CHARACTERS
        )
        for item in islice(references, EVIDENCE_MAX + 1)
    ]
    if len(texts) > EVIDENCE_MAX:
        raise InvalidInputError(f"evidence: at most {EVIDENCE_MAX} references are allowed.")
    return texts


def _parse_time(field: str, text: str) -> datetime:
    try:
        return _parse_date(text) or datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInputError(
            f"{field} must be a date such as 2026-03-01, or a date and time such as 2026-03-01T10:00:00Z, "
            f"not {_shown(text)}."
        ) from None


def _parse_date(text: str) -> datetime | None:
    """Midnight UTC at the start of a bare date; None if the text is anything else."""
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC)
    except ValueError:
        return None


def _shown(value: object) -> str:
    # `ascii`, since a message with a lone surrogate cannot be printed.
    shown = ascii(value)
    return shown if len(shown) <= SHOWN_MAX_CHARACTERS else f"{shown[:SHOWN_MAX_CHARACTERS]}…"
