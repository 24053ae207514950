"""What sources hand over to be stored: units of items that are stored together or not at all."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mnemic.adapters.importing.records import Record
from mnemic.errors import InvalidInputError
from mnemic.retain.items import check_fields
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.retained import Retained

UNIT_ITEMS_MAX = 500
"""Single memories that are stored together."""

WAITING_ITEMS_MAX = 5_000
"""Single memories of all owners that may wait until their unit is full."""


@dataclass(frozen=True)
class Skipped:
    """A record that was not imported, and why."""

    record: str
    reason: str


@dataclass(frozen=True)
class Unit:
    """What is stored together. `owner` is whose it was in the source, where that is known.

    `and_then` does what is more than retaining, once the items are stored; doing it twice does no harm.
    """

    name: str
    items: Sequence[Mapping[str, Any]]
    owner: str | None = None
    skipped: Sequence[Skipped] = ()
    and_then: Callable[[AsyncMemory, Retained | None], Awaitable[None]] | None = None


@dataclass
class Sifted:
    """Items of a unit while it is made: those that can be stored, and the others with the reason."""

    items: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Records that were looked at."""
        return len(self.items) + len(self.skipped)

    def add(self, record: str, make: Callable[[], dict[str, Any]]) -> None:
        """Take an item in, if it is one: `make` may raise InvalidInputError to say why it is not."""
        try:
            item = {name: value for name, value in make().items() if value is not None}
            check_fields(item)
        except InvalidInputError as error:
            self.skipped.append(Skipped(record, str(error)))
        else:
            self.items.append({"source": "imported", **item})


def batches(singles: Iterable[tuple[Record, str | None, Callable[[], dict[str, Any]]]]) -> Iterator[Unit]:
    """Units of single memories, owner by owner: a record, whose it was, and what makes an item of it."""
    waiting: dict[str | None, Sifted] = {}
    waiting_count = 0
    for record, owner, make in singles:
        sifted = waiting.setdefault(owner, Sifted())
        sifted.add(record.place, make)
        waiting_count += 1
        if sifted.count >= UNIT_ITEMS_MAX:
            waiting_count -= sifted.count
            yield _batch(owner, waiting.pop(owner), record)
        elif waiting_count >= WAITING_ITEMS_MAX:
            yield from (_batch(owner, sifted, record) for owner, sifted in waiting.items())
            waiting, waiting_count = {}, 0
    yield from (_batch(owner, sifted, None) for owner, sifted in waiting.items())


def _batch(owner: str | None, sifted: Sifted, last: Record | None) -> Unit:
    name = f"the batch up to {last.place}" if last is not None else "the last batch"
    return Unit(name, sifted.items, owner, sifted.skipped)


def need_text(field: str, value: object) -> str:
    """A field that a record must have as text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInputError(f"{field} is missing or empty.")
    return value


def moment(field: str, value: object) -> datetime | None:
    """A time as seconds since 1970 or as ISO 8601 text, UTC where it names no zone; None if absent."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        if isinstance(value, str):
            parsed = datetime.fromisoformat(value)
            return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise InvalidInputError(f"{field} is no time: {str(value)[:40]!a}.")
