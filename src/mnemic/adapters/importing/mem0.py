"""Memories of mem0: JSON from its REST interface or `get_all`, or its local store (`mem0_store`).

A record has `id`, `memory`, and any of `user_id`, `agent_id`, `run_id`, `app_id`, `actor_id`, `role`,
`created_at`, `updated_at`, `metadata`, `categories`, `expiration_date`. A memory becomes a fact; the ids and
the role are kept in its metadata under "mem0", and its categories become tags.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from mnemic.adapters.importing.batches import ImportBatch, batches_by_owner, parse_time, require_text
from mnemic.adapters.importing.files import text_files
from mnemic.adapters.importing.mem0_store import find_stores, read_store
from mnemic.adapters.importing.records import Record, read_records
from mnemic.errors import InvalidInputError

FILES = re.compile(r".+\.jsonl?")
WRAPPERS = ("results", "memories")
KEPT = ("user_id", "agent_id", "run_id", "app_id", "actor_id", "role", "updated_at")


def read_mem0(path: Path) -> Iterator[ImportBatch]:
    """Batches of memories, one owner each."""
    stores = find_stores(path)
    records = (record for store in stores for record in read_store(store)) if stores else _records(path)
    return batches_by_owner(
        (record, _owner(record.value), partial(_item, record.value)) for record in records
    )


def _records(path: Path) -> Iterator[Record]:
    for name, file in text_files(path, FILES):
        yield from read_records(file, name, wrappers=WRAPPERS)


def _owner(value: dict[str, Any]) -> str | None:
    """The user, or the agent if there is no user."""
    named = value.get("user_id") or value.get("agent_id")
    return named if isinstance(named, str) else None


def _item(value: dict[str, Any]) -> dict[str, Any]:
    origin = {name: value[name] for name in KEPT if value.get(name) is not None}
    return {
        "content": require_text("memory", value.get("memory")),
        "external_id": f"mem0:{require_text('id', value.get('id'))}",
        "at": parse_time("created_at", value.get("created_at")),
        "expires_at": parse_time("expiration_date", value.get("expiration_date")),
        "tags": _list("categories", value.get("categories")),
        "metadata": {**_mapping("metadata", value.get("metadata")), "mem0": origin},
    }


def _list(field: str, value: object) -> list[Any]:
    if value is not None and not isinstance(value, list):
        raise InvalidInputError(f"{field} must be a list.")
    return value or []


def _mapping(field: str, value: object) -> dict[str, Any]:
    if value is not None and not isinstance(value, dict):
        raise InvalidInputError(f"{field} must be an object.")
    return value or {}
