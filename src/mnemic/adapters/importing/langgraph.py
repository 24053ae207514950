"""Items of a LangGraph store: JSON lines (or an array) of results of `BaseStore.search`, by `item.dict()`.

They are stored as `mnemic.adapters.langgraph` stores them, so that a `MnemicStore` can serve them. An item
that the store already has is not changed.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from mnemic.adapters.importing.batches import (
    BATCH_ITEMS_MAX,
    BatchBuilder,
    ImportBatch,
    SkippedRecord,
    parse_time,
    require_text,
)
from mnemic.adapters.importing.files import text_files
from mnemic.adapters.importing.records import Record, read_records
from mnemic.adapters.langgraph_items import as_document, as_memory, state_key, whole_text
from mnemic.db.json_value import as_jsonb
from mnemic.errors import ConflictError, InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.retained import Retained
from mnemic.types.scope import check_name

FILES = re.compile(r".+\.jsonl?")
WRAPPERS = ("items",)

# A document, and the index of its memory in the batch; None if it has no text to search.
Kept = tuple[dict[str, Any], int | None]


def read_langgraph(path: Path) -> Iterator[ImportBatch]:
    """Units of items."""
    waiting: list[Record] = []
    for name, file in text_files(path, FILES):
        for record in read_records(file, name, wrappers=WRAPPERS):
            waiting.append(record)
            if len(waiting) == BATCH_ITEMS_MAX:
                yield _batch_of(waiting)
                waiting = []
    if waiting:
        yield _batch_of(waiting)


def _batch_of(records: Sequence[Record]) -> ImportBatch:
    builder, kept = BatchBuilder(), list[Kept]()
    for record in records:
        try:
            document = _document(record.value)
        except InvalidInputError as error:
            builder.skipped.append(SkippedRecord(record.place, str(error)))
            continue
        text, place = whole_text(document["value"]), len(builder.items)
        if text:
            builder.add(record.place, partial(_memory, document, text))
        if not text or len(builder.items) > place:
            kept.append((document, place if text else None))
    name = f"the batch up to {records[-1].place}"
    return ImportBatch(name, builder.items, None, builder.skipped, _keep(kept))


def _document(value: dict[str, Any]) -> dict[str, Any]:
    """The validated item."""
    namespace, held = value.get("namespace"), value.get("value")
    labels = namespace if isinstance(namespace, list) else []
    if not labels or not all(isinstance(label, str) and label for label in labels):
        raise InvalidInputError("namespace must be a list of texts.")
    if not isinstance(held, dict):
        raise InvalidInputError("value must be an object.")
    document = as_document(labels, require_text("key", value.get("key")), held, None)
    check_name("namespace and key", state_key(labels, document["key"]))
    for field in ("created_at", "updated_at"):
        at = parse_time(field, value.get(field))
        if at is not None:
            document[field] = at.isoformat()
    as_jsonb("value", document)
    return document


def _memory(document: dict[str, Any], text: str) -> dict[str, Any]:
    identity = f"{state_key(document['namespace'], document['key'])}\n{text}"
    return {
        **as_memory(document["namespace"], document["key"], text),
        "at": document.get("created_at"),
        "external_id": f"langgraph:{sha256(identity.encode()).hexdigest()}",
    }


def _keep(kept: Sequence[Kept]) -> Callable[[AsyncMemory, Retained | None], Awaitable[None]]:
    """Returns a function that writes the documents that the store does not have yet."""

    async def keep(memory: AsyncMemory, retained: Retained | None) -> None:
        ids = {item.index: item.memory_id for item in retained.stored} if retained is not None else {}
        known = (
            {item.index: item.duplicate_of for item in retained.duplicates} if retained is not None else {}
        )
        for document, place in kept:
            memory_id = {**known, **ids}.get(place) if place is not None else None
            written = {**document, "memory_id": str(memory_id) if memory_id is not None else None}
            try:
                key = state_key(document["namespace"], document["key"])
                await memory.state.set(key, written, expected_version=0)
            except ConflictError:
                continue  # The store has this item, perhaps a newer version.

    return keep
