"""Batches: items that a source yields to be stored together or not at all."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mnemic.adapters.importing.records import Record
from mnemic.errors import InvalidInputError
from mnemic.retain.items import check_fields
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.retained import Retained

BATCH_ITEMS_MAX = 500
"""Limit for single memories in one batch."""

WAITING_ITEMS_MAX = 5_000
"""Limit for single memories of all owners that wait for a full batch."""


@dataclass(frozen=True)
class SkippedRecord:
    """A record that was not imported, and why."""

    record: str
    reason: str


@dataclass(frozen=True)
class ImportBatch:
    """Items that are stored together. `owner` is the owner in the source, if it names one.

    `after_store` runs once the items are stored and does more than `retain` can; it is idempotent.
    """

    name: str
    items: Sequence[Mapping[str, Any]]
    owner: str | None = None
    skipped: Sequence[SkippedRecord] = ()
    after_store: Callable[[AsyncMemory, Retained | None], Awaitable[None]] | None = None


@dataclass
class BatchBuilder:
    """Collects the items of a batch: valid ones, and skipped ones with the reason."""

    items: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[SkippedRecord] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Records that were added or skipped."""
        return len(self.items) + len(self.skipped)

    def add(self, record: str, make: Callable[[], dict[str, Any]]) -> None:
        """Add the item that `make` returns; skip it if it is invalid or `make` raises InvalidInputError."""
        try:
            item = {name: value for name, value in make().items() if value is not None}
            check_fields(item)
        except InvalidInputError as error:
            self.skipped.append(SkippedRecord(record, str(error)))
        else:
            self.items.append({"source": "imported", **item})


def batches_by_owner(
    singles: Iterable[tuple[Record, str | None, Callable[[], dict[str, Any]]]],
) -> Iterator[ImportBatch]:
    """Batches of single memories by owner, from records, their owners, and functions that make the items."""
    waiting: dict[str | None, BatchBuilder] = {}
    waiting_count = 0
    for record, owner, make in singles:
        builder = waiting.setdefault(owner, BatchBuilder())
        builder.add(record.place, make)
        waiting_count += 1
        if builder.count >= BATCH_ITEMS_MAX:
            waiting_count -= builder.count
            yield _batch(owner, waiting.pop(owner), record)
        elif waiting_count >= WAITING_ITEMS_MAX:
            yield from (_batch(owner, builder, record) for owner, builder in waiting.items())
            waiting, waiting_count = {}, 0
    yield from (_batch(owner, builder, None) for owner, builder in waiting.items())


def _batch(owner: str | None, builder: BatchBuilder, last: Record | None) -> ImportBatch:
    name = f"the batch up to {last.place}" if last is not None else "the last batch"
    return ImportBatch(name, builder.items, owner, builder.skipped)


def require_text(field: str, value: object) -> str:
    """A required field with text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInputError(f"{field} is missing or empty.")
    return value


def parse_time(field: str, value: object) -> datetime | None:
    """A time, as seconds since 1970 or as ISO 8601 text, in UTC if it names no zone; None if absent."""
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
    raise InvalidInputError(f"{field} is not a time: {str(value)[:40]!a}.")
