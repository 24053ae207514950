"""Forged export files: an import takes rows of the named owner into its own tenant, and nothing else."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from mnemic.errors import InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    Rows,
    contents,
    memory,
    open_memory,
    rows,
    superuser,
)

Lines = list[dict[str, Any]]


@pytest.fixture
async def bobs_id(memory: AsyncMemory) -> UUID:  # noqa: F811
    """A memory of another owner of the same tenant, with history and an entity."""
    bob = memory.scope(owner="bob")
    (memory_id,) = (await bob.retain("Bob keeps a secret.")).memory_ids
    await bob.memories.update(memory_id, content="Bob keeps two secrets.")
    await bob.entities.upsert("person", "Bob", facts={"likes": "silence"})
    return memory_id


@pytest.fixture
async def exported(memory: AsyncMemory, tmp_path: Path) -> Lines:  # noqa: F811
    """The lines of an export of alice, who is erased afterwards so that it can be imported again."""
    (first, second) = (await memory.retain(["Alice tells.", "Alice asks."], conversation="c")).memory_ids
    await memory.memories.update(first, content="Alice told.")
    await memory.memories.relate(first, second, "supports")
    await memory.entities.upsert("person", "Alice", facts={"likes": "tea"}, evidence=first)
    await memory.triples.add("Alice", "likes", "tea", evidence=first)
    await memory.metrics.record("recall", "speed", 1.5)
    await memory.admin.export(tmp_path / "export")
    await memory.admin.erase("alice")
    return lines_of(tmp_path / "export")


def lines_of(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_text().splitlines()]


def first(lines: Lines, table: str) -> dict[str, Any]:
    """The first row of a table."""
    row: dict[str, Any] = next(line["row"] for line in lines if line.get("table") == table)
    return row


def rename_owner(lines: Lines, table: str) -> None:
    first(lines, table)["owner"] = "bob"


FORGERIES: dict[str, Callable[[Lines, str], object]] = {
    "a memory of another owner": lambda lines, _: rename_owner(lines, "state.memories"),
    "a conversation of another owner": lambda lines, _: rename_owner(lines, "state.conversations"),
    "an entity of another owner": lambda lines, _: rename_owner(lines, "state.entities"),
    "a triple of another owner": lambda lines, _: rename_owner(lines, "state.triples"),
    "a measurement of another owner": lambda lines, _: rename_owner(lines, "state.metrics_events"),
    "a version of another owner": lambda lines, _: rename_owner(lines, "state.memory_versions"),
    "no owner": lambda lines, _: first(lines, "state.memories").pop("owner"),
    "a key for the whole tenant": lambda lines, _: lines.append(
        {
            "table": "state.api_keys",
            "row": {"key_id": str(uuid4()), "role": "admin", "key_hash": "\\x" + "00" * 32, "prefix": "mk"},
        }
    ),
    "history for another owner's memory": lambda lines, bobs: first(lines, "state.memory_versions").update(
        memory_id=bobs, version=0
    ),
    "a relation to another owner's memory": lambda lines, bobs: first(
        lines, "state.memory_relationships"
    ).update(to_id=bobs),
    "evidence from another owner": lambda lines, bobs: first(lines, "state.entity_facts").update(
        memory_id=bobs
    ),
    "a successor of another owner": lambda lines, bobs: first(lines, "state.memories").update(
        superseded_by=bobs, status="superseded"
    ),
    "counts for another owner's memory": lambda lines, bobs: lines.append(
        {"table": "state.recall_counts", "row": {"memory_id": bobs, "retrieval_count": 1000000}}
    ),
    "a time at infinity": lambda lines, _: first(lines, "state.memories").update(created_at="infinity"),
    "a time before infinity": lambda lines, _: first(lines, "state.memories").update(at="-infinity"),
    "a year that programs cannot read": lambda lines, _: first(lines, "state.memories").update(
        recorded_at="20000-01-01T00:00:00Z"
    ),
    "a year that nobody can read": lambda lines, _: first(lines, "state.memories").update(at="999999-01-01"),
    "a measurement that is not a number": lambda lines, _: first(lines, "state.metrics_events").update(
        value="NaN"
    ),
    "an infinite measurement": lambda lines, _: first(lines, "state.metrics_events").update(value="Infinity"),
    "a confidence that is not a number": lambda lines, _: first(lines, "state.memories").update(
        confidence="NaN"
    ),
    "a number beyond its type": lambda lines, _: first(lines, "state.memories").update(version=2**40),
    "a text that is too long": lambda lines, _: first(lines, "state.memories").update(content="x" * 8193),
    "a category that does not exist": lambda lines, _: first(lines, "state.memories").update(category="x"),
    "a list in place of a text": lambda lines, _: first(lines, "state.memories").update(channel=["x"] * 300),
    "a position below zero": lambda lines, _: first(lines, "state.memories").update(position=-1),
}


@pytest.mark.usefixtures("no_comparisons")
async def test_forged_rows_are_refused_and_nothing_is_imported(
    memory: AsyncMemory,  # noqa: F811
    rows: Rows,  # noqa: F811
    exported: Lines,
    bobs_id: UUID,
    tmp_path: Path,
    subtests: pytest.Subtests,
) -> None:
    before = stored(rows, memory)
    for how, forge in FORGERIES.items():
        with subtests.test(how):
            lines: Lines = json.loads(json.dumps(exported))
            forge(lines, str(bobs_id))
            write(tmp_path / "forged", lines)
            with pytest.raises(InvalidInputError):
                await memory.admin.import_(tmp_path / "forged")
            assert stored(rows, memory) == before
    write(tmp_path / "true", exported)
    assert (await memory.admin.import_(tmp_path / "true")).rows["state.memories"] == 2
    assert contents(await memory.scope(owner="bob").memories.list()) == ["Bob keeps two secrets."]


async def test_an_existing_memory_of_another_owner_is_not_taken_over(
    memory: AsyncMemory,  # noqa: F811
    exported: Lines,
    bobs_id: UUID,
    tmp_path: Path,
) -> None:
    """A row whose id exists is left out, and so is what would change the row that is there."""
    lines = [
        line for line in exported if line.get("table") in (None, "state.conversations", "state.memories")
    ]
    row = first(lines, "state.memories")
    row.update(memory_id=str(bobs_id), retrieval_count=999, last_retrieved_at="2026-01-01T00:00:00Z")
    write(tmp_path / "forged", lines)
    bob = memory.scope(owner="bob")
    before = await bob.memories.get(bobs_id)
    await memory.admin.import_(tmp_path / "forged")
    assert await bob.memories.get(bobs_id) == before
    assert len(await bob.memories.history(bobs_id)) == 2


async def test_vectors_logs_and_jobs_are_never_imported(
    memory: AsyncMemory,  # noqa: F811
    rows: Rows,  # noqa: F811
    exported: Lines,
    tmp_path: Path,
) -> None:
    row = first(exported, "state.memories")
    ((table, dimensions),) = rows.select("SELECT table_name, dimensions FROM mnemic.vector_models LIMIT 1")
    forged = {"memory_id": row["memory_id"], "owner": "alice", "embedding": str([1.0] * int(str(dimensions)))}
    exported += [
        {"table": f"vectors.{table}", "row": forged},
        {"table": "vectors.owner_statistics", "row": {"owner": "alice", "memory_count": 1}},
        {"table": "queue.jobs", "row": {"owner": "alice", "type": "cleanup"}},
        {"table": "traces.audit_log", "row": {"owner": "alice", "action": "forged"}},
    ]
    write(tmp_path / "forged", exported)
    imported = await memory.admin.import_(tmp_path / "forged", embed=False)
    assert {name.partition(".")[0] for name in imported.rows} == {"state"}
    assert not any(name.startswith("vectors.model") for name in rows.counts(memory.tenant.id))
    assert [act.action for act in await memory.audit.list() if act.action == "forged"] == []


def write(path: Path, lines: Lines) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def stored(rows: Rows, memory: AsyncMemory) -> dict[str, int]:  # noqa: F811
    """How many rows the tenant has, without the audit log, which records each attempt."""
    counts = rows.counts(memory.tenant.id)
    return {table: count for table, count in counts.items() if table != "traces.audit_log"}
