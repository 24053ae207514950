"""The columns of a memory are listed once per language; every other list agrees with it.

The list is `MemoryRecord` in Python and the view `state.memory_records` in SQL. A column that is added in one
place only fails here.
"""

import re
from dataclasses import fields

import pytest

from mnemic.record.memories import SHARED_BY_CHUNKS, VERSIONED_FIELDS
from mnemic.retain.items import Item
from mnemic.sdk.memory import AsyncMemory
from mnemic.sql import query
from mnemic.types.memory import MemoryRecord
from tests.fresh_tenants import Rows

RECORD_COLUMNS = [field.name for field in fields(MemoryRecord)]
# Columns that only the database uses: the tenant, what makes memories unique, the lexical index, and the
# channel again if it is a branch.
INTERNAL_COLUMNS = {"tenant_id", "whole_hash", "content_hash", "words", "branch"}
# Counts of feedback, from which usefulness and salience are computed.
FEEDBACK_COLUMNS = {"useful_count", "not_useful_count", "last_useful_at"}
# From state.outdated_memories.
MARK_COLUMNS = {"outdated_by"}
# Written with every change, without making a version by themselves.
CHANGE_COLUMNS = {"changed_by", "change_reason"}
ITEM_FIELDS = [field.name for field in fields(Item)]

FULL_ITEM = {
    "content": "Alice likes tea.",
    "category": "preference",
    "source": "imported",
    "provenance": "reasoned",
    "confidence": 0.25,
    "at": "2026-01-02T03:04:05+00:00",
    "valid_from": "2026-01-01T00:00:00+00:00",
    "valid_to": "2036-01-01T00:00:00+00:00",
    "expires_at": "2046-01-01T00:00:00+00:00",
    "conversation": "breakfast",
    "role": "user",
    "name": "Alice",
    "tags": ("drinks",),
    "metadata": {"cups": 2},
    "anchored": True,
    "evidence": ("receipt",),
    "external_id": "import-1",
}


def columns(rows: Rows, table: str) -> list[str]:
    """The columns of a table or view, in order."""
    found = rows.select(
        "SELECT attname FROM pg_attribute"
        " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        table,
    )
    return [str(name) for (name,) in found]


def test_the_view_has_the_fields_of_a_record_in_their_order(rows: Rows) -> None:
    assert columns(rows, "state.memory_records") == [*RECORD_COLUMNS, "tenant_id", "branch"]


def test_the_history_has_the_same_columns_and_the_end_of_a_version(rows: Rows) -> None:
    assert columns(rows, "state.memory_history") == [*RECORD_COLUMNS, "tenant_id", "branch", "known_until"]


def test_a_record_has_every_column_of_the_tables_that_is_not_internal(rows: Rows) -> None:
    counted = set(columns(rows, "state.recall_counts")) - {"tenant_id", "memory_id", *FEEDBACK_COLUMNS}
    table = columns(rows, "state.memories")
    assert {*table, *counted, *MARK_COLUMNS} == {*RECORD_COLUMNS, *INTERNAL_COLUMNS}
    assert set(columns(rows, "state.memory_versions")) == {*table, *counted, "known_until"}


def test_the_trigger_makes_a_version_when_a_versioned_field_changes(rows: Rows) -> None:
    trigger = str(rows.value("SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'keep_version'"))
    for row in ("old", "new"):
        assert set(re.findall(rf'{row}\."?(\w+)', trigger)) == set(VERSIONED_FIELDS)


@pytest.mark.parametrize(
    ("name", "versioned"), [("memories.write", VERSIONED_FIELDS), ("memories.write_shared", SHARED_BY_CHUNKS)]
)
def test_a_change_writes_all_fields_that_it_may_change(name: str, versioned: tuple[str, ...]) -> None:
    assignments = query(name).split("WHERE")[0]
    assert set(re.findall(r"(\w+) = %\((\w+)\)s", assignments)) == {
        (field, field) for field in {*versioned, *CHANGE_COLUMNS}
    }


def test_the_application_may_update_what_a_change_writes(rows: Rows) -> None:
    granted = rows.select(
        "SELECT column_name FROM information_schema.column_privileges"
        " WHERE grantee = 'mnemic_app' AND privilege_type = 'UPDATE'"
        " AND table_schema = 'state' AND table_name = 'memories'"
    )
    assert {*VERSIONED_FIELDS, *CHANGE_COLUMNS} <= {str(column) for (column,) in granted}


async def test_every_field_of_an_item_is_stored_recalled_and_versioned(
    memory: AsyncMemory,
) -> None:
    """Lists in `mnemic.insert_memories`, in the history view and in recall are in no catalog."""
    assert set(FULL_ITEM) == set(ITEM_FIELDS), "give the new field a value here"
    (memory_id,) = (await memory.retain(FULL_ITEM)).memory_ids
    stored = await memory.memories.get(memory_id)
    for field in ITEM_FIELDS:
        value = getattr(stored, field)
        assert (value.isoformat() if hasattr(value, "isoformat") else value) == FULL_ITEM[field], field
    (hit,) = (await memory.recall("What does Alice like?")).hits
    assert hit.memory == stored
    await memory.memories.update(memory_id, content="Alice likes coffee.")
    first, second = await memory.memories.history(memory_id)
    assert (first, second.version) == (stored, 2)
    assert await memory.memories.as_of(memory_id, stored.recorded_at) == stored
