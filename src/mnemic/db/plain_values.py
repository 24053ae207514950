"""Lists of texts and rows of plain values as query parameters, written by one pass over the values.

psycopg looks up a dumper for every element. For the parameters of a recall, a dozen short lists and two
filters, that takes longer than everything else that the driver does. Anything but plain values is left to
psycopg; the result is the same.
"""

from datetime import datetime
from typing import Any

from psycopg.abc import AdaptContext, DumperKey, PyFormat
from psycopg.adapt import Buffer
from psycopg.types.array import BaseListDumper, ListDumper
from psycopg.types.composite import TupleDumper

_TEXTS_KEY: DumperKey = (list, (str, list))
_TEXTS = {str}


class PlainListDumper(ListDumper):
    """Chooses `TextListDumper` for a list of nothing but texts."""

    def get_key(self, obj: list[Any], format: PyFormat) -> DumperKey:
        """A key of its own for lists of texts."""
        return _TEXTS_KEY if set(map(type, obj)) == _TEXTS else super().get_key(obj, format)

    def upgrade(self, obj: list[Any], format: PyFormat) -> BaseListDumper:
        """The dumper for this key."""
        if set(map(type, obj)) == _TEXTS:
            return TextListDumper(self.cls, self._tx)
        return super().upgrade(obj, format)


class TextListDumper(ListDumper):
    """Writes a list of texts as an array."""

    def get_key(self, obj: list[Any], format: PyFormat) -> DumperKey:
        """Only used for lists of texts."""
        return _TEXTS_KEY

    def upgrade(self, obj: list[Any], format: PyFormat) -> BaseListDumper:
        """Itself."""
        return self

    def dump(self, obj: list[Any]) -> Buffer | None:
        """The text format. Like psycopg, refuses a NUL character, which PostgreSQL cannot store."""
        written = _array(obj)
        return written.encode() if "\0" not in written else super().dump(obj)


class PlainRowDumper(TupleDumper):
    """Writes a tuple as a row."""

    def dump(self, obj: tuple[Any, ...]) -> Buffer | None:
        """The text format."""
        fields = [_field(value) for value in obj]
        written = f"({','.join(field for field in fields if field is not None)})"
        return super().dump(obj) if None in fields or "\0" in written else written.encode()


def _field(value: Any) -> str | None:
    """A field of a row, empty for NULL; None if it is not a plain value."""
    kind = type(value)
    if value is None:
        return ""
    if kind is str:
        return _quoted_in_row(value)
    if kind is list and (not value or set(map(type, value)) == _TEXTS):
        return _quoted_in_row(_array(value))
    if kind is datetime:
        return f'"{value}"'
    if kind is bool:
        return "t" if value else "f"
    return None


def _quoted_in_row(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '""')
    return f'"{escaped}"'


def _array(texts: list[str]) -> str:
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"


def use_plain_values(connection: AdaptContext) -> None:
    """Register the dumpers on a connection."""
    if (adapters := connection.adapters) is not None:
        adapters.register_dumper(list, PlainListDumper)
        adapters.register_dumper(tuple, PlainRowDumper)
