"""Fields of URLs and forms, checked: each function returns a value or raises an error that names the field.

An empty field is a field that was left out: browsers send empty ones.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID

from mnemic.errors import InvalidInputError
from mnemic.types.checks import check_id, check_time

TEXT_MAX_CHARACTERS = 10_000
WHOLE_NUMBER_MAX_DIGITS = 9


class Fields:
    """The fields of a query or a form: several values per name, in the order in which they came."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            if value:
                self._values.setdefault(name, []).append(value)

    def pairs(self) -> list[tuple[str, str]]:
        """All fields that are not empty, as pairs."""
        return [(name, value) for name, values in self._values.items() for value in values]

    def all(self, name: str) -> list[str]:
        """All values of a field."""
        return list(self._values.get(name, ()))

    def text(self, name: str, *, max_characters: int = TEXT_MAX_CHARACTERS) -> str | None:
        """A text without the white space around it; None if it is missing or blank."""
        value = self._first(name)
        if value is None or not value.strip():
            return None
        if len(value) > max_characters:
            raise InvalidInputError(
                f"{name} has more than {max_characters:,} characters, which is the limit."
            )
        return value.strip()

    def name(self, name: str) -> str | None:
        """A name exactly as it was sent, because white space around names counts; None if it is blank."""
        value = self._first(name)
        return value if value is not None and value.strip() else None

    def required(self, name: str, *, max_characters: int = TEXT_MAX_CHARACTERS) -> str:
        """A text that must be there."""
        value = self.text(name, max_characters=max_characters)
        if value is None:
            raise InvalidInputError(f"{name} is missing. Fill in the field and send the form again.")
        return value

    def whole_number(self, name: str, *, default: int, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        value = self._first(name)
        if value is None:
            return default
        is_number = value.isascii() and value.isdecimal() and len(value) <= WHOLE_NUMBER_MAX_DIGITS
        if not is_number or not low <= int(value) <= high:
            raise InvalidInputError(f"{name} must be a whole number from {low:,} to {high:,}.")
        return int(value)

    def number(self, name: str, *, default: float, low: float, high: float) -> float:
        """A number from `low` to `high`."""
        value = self._first(name)
        if value is None:
            return default
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not low <= number <= high:
            raise InvalidInputError(f"{name} must be a number from {low:g} to {high:g}.")
        return number

    def choice(self, name: str, choices: Iterable[str] | Mapping[str, object], *, default: str) -> str:
        """One of some words."""
        value, known = self._first(name), list(choices)
        if value is None:
            return default
        if value not in known:
            raise InvalidInputError(f"{name} must be one of: {', '.join(known)}.")
        return value

    def flag(self, name: str) -> bool:
        """Whether a box is ticked."""
        return self._first(name) is not None

    def time(self, name: str) -> datetime | None:
        """A time in ISO 8601, or a date; None if it is missing."""
        value = self._first(name)
        return None if value is None else check_time(name, value)

    def id(self, name: str) -> UUID | None:
        """An id; None if it is missing."""
        value = self._first(name)
        return None if value is None else check_id(name, value)

    def required_id(self, name: str) -> UUID:
        """An id that must be there."""
        return check_id(name, self.required(name))

    def _first(self, name: str) -> str | None:
        values = self._values.get(name)
        return values[0] if values else None
