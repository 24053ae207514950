"""An owner as a file: everything in it, and everything back elsewhere, with ids, history and relations."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from mnemic.errors import ConflictError, InvalidInputError, MnemicError, NotFoundError
from mnemic.sdk.memory import AsyncMemory
from tests.backup.everything import fill
from tests.fresh_tenants import OpenMemory, Rows, contents, vector_of
from tests.opened import core_of
from tests.unsteady_engine import Unsteady

LONG = "".join(f"Sentence {number} of a long text.\r\n" for number in range(800))
# Tests count the rows of all tables, the deduplication backlog included.
pytestmark = pytest.mark.usefixtures("no_comparisons")

HEADER = {"format": "mnemic-export", "version": 1, "owner": "alice"}


@pytest.fixture
def engine() -> Unsteady:
    return Unsteady()


@pytest.fixture
async def memory(open_memory: OpenMemory, engine: Unsteady) -> AsyncMemory:
    return await open_memory(embedder=engine)


@pytest.fixture
async def elsewhere(open_memory: OpenMemory) -> AsyncMemory:
    """Another tenant, with a model of its own."""
    return await open_memory(embedder=Unsteady(48))


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The rows of an export, numbers as they are written."""
    lines = path.read_bytes().decode().removesuffix("\n").split("\n")
    return [json.loads(line, parse_float=Decimal) for line in lines]


MEMBERS = "state.group_members"


def held(path: Path) -> Counter[str]:
    """What an export holds, without logs and memberships, which stay where they were written."""
    return Counter(
        json.dumps(line, sort_keys=True, default=str)
        for line in lines_of(path)[1:]
        if not line["table"].startswith(("traces.", MEMBERS))
    )


def stored(rows: Rows, memory: AsyncMemory) -> dict[str, int]:
    """How many rows a tenant has, but for the audit log, which tells of every export and import."""
    counts = rows.counts(memory.tenant.id)
    return {table: count for table, count in counts.items() if table != "traces.audit_log"}


def is_of(line: dict[str, Any], table: str) -> bool:
    return line.get("table") == table


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.mark.usefixtures("no_comparisons")
async def test_everything_comes_back_elsewhere(
    memory: AsyncMemory, elsewhere: AsyncMemory, engine: Unsteady, rows: Rows, tmp_path: Path
) -> None:
    memory_id = await fill(memory, "alice", "tea", engine)
    before = stored(rows, memory)
    exported = await memory.admin.export(tmp_path / "one")
    assert stored(rows, memory) == before
    imported = await elsewhere.admin.import_(tmp_path / "one")
    expected = {
        table: count for table, count in exported.items() if count and not table.startswith("traces.")
    }
    # An import adds nobody to a group; see tests/attacks/grants.
    assert imported.rows == expected | {MEMBERS: 0}
    await elsewhere.admin.export(tmp_path / "two")
    assert held(tmp_path / "two") == held(tmp_path / "one")
    after = stored(rows, elsewhere)
    unlike = {name for name in before if name.startswith(("traces.", "vectors.", "queue."))}
    # Beside alice's rows, `fill` makes a group, a grant of another owner to it, and a key for all owners.
    unlike |= {"state.groups", "state.grants", "state.api_keys", MEMBERS}
    assert {name: count for name, count in after.items() if name in before and name not in unlike} == {
        name: count for name, count in before.items() if name not in unlike
    }
    calls: list[Callable[[AsyncMemory], Awaitable[object]]] = [
        lambda place: place.memories.get(memory_id),
        lambda place: place.memories.list(statuses=None, include_forgotten=True, limit=1000),
        lambda place: place.memories.history(memory_id),
        lambda place: place.memories.related(memory_id),
        lambda place: place.entities.list(),
        lambda place: place.revenue.list(),
        lambda place: place.conversations.turns("conversation tea"),
    ]
    for call in calls:
        assert await call(elsewhere) == await call(memory)
    assert (await elsewhere.admin.stats()).awaiting_embedding_count == 0
    assert vector_of(rows, memory_id, "test:hash-48") is not None


async def test_importing_twice_changes_nothing(
    memory: AsyncMemory, elsewhere: AsyncMemory, engine: Unsteady, rows: Rows, tmp_path: Path
) -> None:
    await fill(memory, "alice", "tea", engine)
    await memory.admin.export(tmp_path / "file")
    await elsewhere.admin.import_(tmp_path / "file")
    before = stored(rows, elsewhere)
    again = await elsewhere.admin.import_(tmp_path / "file")
    assert (again.row_count, stored(rows, elsewhere)) == (0, before)
    here = await memory.admin.import_(tmp_path / "file")
    assert here.row_count == 0


async def test_long_texts_and_conversations_go_on_where_they_were(
    memory: AsyncMemory, elsewhere: AsyncMemory, tmp_path: Path
) -> None:
    (first, _) = (await memory.retain([LONG, "second"], conversation="c")).memory_ids
    await memory.admin.export(tmp_path / "file")
    await elsewhere.admin.import_(tmp_path / "file")
    assert await elsewhere.memories.whole(first) == LONG
    await elsewhere.retain("third", conversation="c")
    assert [turn.position for turn in await elsewhere.conversations.turns("c")][-1] == 2
    await elsewhere.memories.update((await elsewhere.conversations.turns("c"))[-1].memory_id, content="3rd")


async def test_a_conversation_that_went_on_meanwhile_can_be_brought_up_to_date(
    memory: AsyncMemory, elsewhere: AsyncMemory, tmp_path: Path
) -> None:
    for name, turns in (("old", ["a", "b"]), ("new", ["c", "d"])):
        await memory.retain(turns, conversation="c")
        await memory.admin.export(tmp_path / name)
        await elsewhere.admin.import_(tmp_path / name)
    await elsewhere.retain("e", conversation="c")
    assert contents(await elsewhere.conversations.turns("c")) == ["a", "b", "c", "d", "e"]
    assert (await elsewhere.conversations.get("c")).turn_count == 5


async def test_numbers_keep_every_digit(memory: AsyncMemory, elsewhere: AsyncMemory, tmp_path: Path) -> None:
    amounts = ["12.50", "0.100000000000000001", "99999999999999999999.999999999999999999", "1000"]
    for amount in amounts:
        await memory.revenue.append(amount, "EUR", source="shop")
    await memory.retain("x", metadata={"big": 2**70, "small": 1.1}, confidence=0.1)
    await memory.admin.export(tmp_path / "file")
    await elsewhere.admin.import_(tmp_path / "file")
    assert [str(event.amount) for event in await elsewhere.revenue.list()] == [
        str(event.amount) for event in await memory.revenue.list()
    ]
    (record,) = await elsewhere.memories.list()
    assert (record.metadata, record.confidence) == ({"big": 2**70, "small": 1.1}, 0.1)


async def test_an_export_is_of_one_owner_and_one_moment(
    memory: AsyncMemory, elsewhere: AsyncMemory, tmp_path: Path
) -> None:
    await memory.retain("Bob's.", owner="bob")
    await memory.retain([f"fact {number}" for number in range(50)], conversation="c")

    async def write_on() -> None:
        for number in range(20):
            await memory.retain([f"more {number}", f"even more {number}"], conversation="c")

    await asyncio.gather(write_on(), memory.admin.export(tmp_path / "file"))
    assert {line["row"].get("owner", "alice") for line in lines_of(tmp_path / "file")[1:]} == {"alice"}
    await elsewhere.admin.import_(tmp_path / "file")
    turns = await elsewhere.conversations.turns("c")
    assert len(turns) == (await elsewhere.conversations.get("c")).turn_count
    assert len(turns) % 2 == 0


async def test_an_export_of_nobody_is_an_empty_file_that_can_be_imported(
    memory: AsyncMemory, elsewhere: AsyncMemory, tmp_path: Path
) -> None:
    counts = await memory.admin.export(tmp_path / "file", owner="nobody")
    assert {table for table, count in counts.items() if count} == {"traces.audit_log"}
    header, intent = lines_of(tmp_path / "file")
    assert header == HEADER | {"owner": "nobody"}
    assert (intent["row"]["action"], intent["row"]["phase"]) == ("export_owner", "intent")
    assert (await elsewhere.admin.import_(tmp_path / "file")).row_count == 0


async def test_an_export_is_private_and_never_overwrites(memory: AsyncMemory, tmp_path: Path) -> None:
    path = tmp_path / "file"
    await memory.retain("x")
    await memory.admin.export(path)
    assert path.stat().st_mode & 0o777 == 0o600
    old = path.read_bytes()
    await memory.retain("y")
    with pytest.raises(ConflictError, match="exists already"):
        await memory.admin.export(path)
    assert path.read_bytes() == old
    await memory.admin.export(path, replace=True)
    assert path.read_bytes() != old
    with pytest.raises(NotFoundError, match="cannot be written"):
        await memory.admin.export(tmp_path / "missing" / "file")
    assert names_in(tmp_path) == ["file"]


async def test_a_failed_export_leaves_no_file(
    memory: AsyncMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.retain("x")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(NotFoundError, match="No space left"):
        await memory.admin.export(tmp_path / "file")
    assert names_in(tmp_path) == []


Change = Callable[[AsyncMemory, AsyncMemory], Awaitable[object]]


async def same_words(memory: AsyncMemory, elsewhere: AsyncMemory) -> None:
    await memory.retain("Alice likes tea.")
    await elsewhere.retain("Alice likes tea.")


async def same_external_id(memory: AsyncMemory, elsewhere: AsyncMemory) -> None:
    await memory.retain({"content": "one", "external_id": "e"})
    await elsewhere.retain({"content": "two", "external_id": "e"})


async def same_conversation(memory: AsyncMemory, elsewhere: AsyncMemory) -> None:
    await memory.retain(["a", "b", "c"], conversation="c")
    await elsewhere.retain("x", conversation="c")


async def same_entity(memory: AsyncMemory, elsewhere: AsyncMemory) -> None:
    await memory.entities.upsert("city", "Berlin", facts={"x": 1})
    await elsewhere.entities.upsert("city", "Berlin", facts={"x": 2})


async def same_document(memory: AsyncMemory, elsewhere: AsyncMemory) -> None:
    await memory.documents.put("manual", "One.")
    await elsewhere.documents.put("manual", "Two.")


@pytest.mark.parametrize(
    "same", [same_words, same_external_id, same_conversation, same_entity, same_document]
)
async def test_what_stands_in_the_way_is_a_conflict_and_nothing_is_imported(
    memory: AsyncMemory, elsewhere: AsyncMemory, rows: Rows, tmp_path: Path, same: Change
) -> None:
    """Dropping a row in silence would tear a hole into what was exported."""
    await memory.retain("first of all")
    await same(memory, elsewhere)
    await memory.admin.export(tmp_path / "file")
    before = stored(rows, elsewhere)
    with pytest.raises(ConflictError, match="another id"):
        await elsewhere.admin.import_(tmp_path / "file")
    assert stored(rows, elsewhere) == before


async def test_an_older_state_never_falls_between_newer_ones(
    memory: AsyncMemory, elsewhere: AsyncMemory, tmp_path: Path
) -> None:
    """The memory went on changing in both places after it was moved."""
    (memory_id,) = (await memory.retain("one")).memory_ids
    await memory.admin.export(tmp_path / "old")
    await elsewhere.admin.import_(tmp_path / "old")
    for text in ("two", "three", "four"):
        await memory.memories.update(memory_id, content=text)
    await elsewhere.memories.update(memory_id, content="2")
    await memory.admin.export(tmp_path / "new")
    await elsewhere.admin.import_(tmp_path / "new")
    assert contents(await elsewhere.memories.history(memory_id)) == ["one", "2"]
    await elsewhere.memories.update(memory_id, content="3")
    await elsewhere.admin.import_(tmp_path / "old")
    assert contents(await elsewhere.memories.history(memory_id)) == ["one", "2", "3"]
    await memory.admin.import_(tmp_path / "old")
    assert contents(await memory.memories.history(memory_id)) == ["one", "two", "three", "four"]


async def test_counts_of_recalls_come_from_where_older_exports_have_them(
    memory: AsyncMemory, elsewhere: AsyncMemory, tmp_path: Path
) -> None:
    """Once they stood in the memories' own rows."""
    (tea, _) = (await memory.retain(["Alice likes tea.", "Nobody asks for this."])).memory_ids
    for _ in range(2):
        await memory.recall("What does Alice like?", limit=1, refuse_below=0)
    await core_of(memory).write_recalled_counts()
    await memory.admin.export(tmp_path / "new")
    lines = lines_of(tmp_path / "new")
    counts = {line["row"]["memory_id"]: line["row"] for line in lines if is_of(line, "state.recall_counts")}
    assert list(counts) == [str(tea)]
    for line in lines:
        if is_of(line, "state.memories"):
            never = {"retrieval_count": 0, "last_retrieved_at": None}
            line["row"] |= counts.get(line["row"]["memory_id"], never)
    old = [line for line in lines if not is_of(line, "state.recall_counts")]
    (tmp_path / "old").write_text("\n".join(json.dumps(line, default=float) for line in old))
    await elsewhere.admin.import_(tmp_path / "old")
    records = await memory.memories.list()
    assert [record.retrieval_count for record in records] == [0, 2]
    assert await elsewhere.memories.list() == records


async def test_an_import_does_not_depend_on_the_model(
    memory: AsyncMemory, open_memory: OpenMemory, rows: Rows, tmp_path: Path
) -> None:
    (memory_id,) = (await memory.retain("x")).memory_ids
    await memory.admin.export(tmp_path / "file")
    engine = Unsteady(56, failing=True)
    elsewhere = await open_memory(embedder=engine)
    imported = await elsewhere.admin.import_(tmp_path / "file")
    assert imported.rows["state.memories"] == 1
    assert (await elsewhere.admin.stats()).awaiting_embedding_count == 1
    engine.failing = False
    assert await elsewhere.admin.embed_backlog() == 1
    assert vector_of(rows, memory_id, engine.name) is not None
    later = await open_memory()
    assert (await later.admin.import_(tmp_path / "file", embed=False)).row_count == 1
    assert (await later.admin.stats()).awaiting_embedding_count == 1


BAD_FILES: dict[str, bytes] = {
    "empty": b"",
    "text": b"hello\n",
    "binary": b"\xff\xfe\x00\x01",
    "other JSON": b"[1, 2]\n",
    "no header": b'{"table": "state.memories", "row": {}}\n',
    "newer": b'{"format": "mnemic-export", "version": 2, "owner": "alice"}\n',
    "cut off": json.dumps(HEADER).encode() + b'\n{"table": "state.memories", "row": {"memory_id": "01',
    "no row": json.dumps(HEADER).encode() + b'\n{"table": "state.memories"}\n',
    "row is a list": json.dumps(HEADER).encode() + b'\n{"table": "state.memories", "row": []}\n',
    "bad value": json.dumps(HEADER).encode() + b'\n{"table": "state.memories", "row": {"memory_id": "x"}}\n',
    "missing value": json.dumps(HEADER).encode()
    + b'\n{"table": "state.memories", "row": {"owner": "alice"}}\n',
    "NUL": json.dumps(HEADER).encode() + b'\n{"table": "state.state_documents", "row": {"key": "\\u0000"}}\n',
    "nested": json.dumps(HEADER).encode() + b'\n{"table": "t", "row": ' + b'{"a":' * 100_000 + b"\n",
    "no parent": json.dumps(HEADER).encode()
    + b'\n{"table": "state.memory_relationships", "row": {"from_id": "01a1e17c-e6db-7afb-8847-4e4db089de3c",'
    b' "to_id": "01a1e17c-e6db-7afb-8847-4e4db089de3d", "kind": "supports", "confidence": 1, "process": "p",'
    b' "created_at": "2026-01-01T00:00:00Z"}}\n',
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES)
async def test_a_file_that_is_no_export_is_refused_and_nothing_is_imported(
    elsewhere: AsyncMemory, rows: Rows, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(InvalidInputError) as caught:
        await elsewhere.admin.import_(tmp_path / "file")
    assert len(str(caught.value)) < 300
    assert stored(rows, elsewhere) == {}


@pytest.mark.parametrize(
    "table",
    [
        "state.tenants",
        "mnemic.signing_key",
        "mnemic.migrations",
        "pg_catalog.pg_authid",
        "state.memory_records",
        "x",
    ],
)
async def test_a_file_cannot_write_where_no_owner_is(
    elsewhere: AsyncMemory, rows: Rows, tmp_path: Path, table: str
) -> None:
    lines = [HEADER, {"table": table, "row": {"name": "forged", "tenant_id": str(uuid4())}}]
    (tmp_path / "file").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(InvalidInputError, match="no table"):
        await elsewhere.admin.import_(tmp_path / "file")
    assert stored(rows, elsewhere) == {}


async def test_a_file_cannot_write_into_another_tenant_or_the_logs(
    memory: AsyncMemory, elsewhere: AsyncMemory, rows: Rows, tmp_path: Path
) -> None:
    await memory.retain("x")
    await memory.entities.upsert("city", "Bonn")
    await memory.entities.delete("city", "Bonn")
    await memory.admin.export(tmp_path / "file")
    lines = lines_of(tmp_path / "file")
    assert any(line.get("table", "").startswith("traces.") for line in lines)
    for line in lines[1:]:
        line["row"]["tenant_id"] = str(memory.tenant.id)
    before = rows.counts(memory.tenant.id)
    (tmp_path / "forged").write_text("\n".join(json.dumps(line, default=str) for line in lines))
    await elsewhere.admin.import_(tmp_path / "forged")
    assert rows.counts(memory.tenant.id) == before
    assert not any(table.startswith("traces.") for table in stored(rows, elsewhere))
    assert {act.action for act in await elsewhere.audit.list()} == {"import_owner"}


async def test_a_missing_file_is_said_to_be_missing(elsewhere: AsyncMemory, tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(NotFoundError, match="cannot be read"):
            await elsewhere.admin.import_(path)


@pytest.mark.parametrize("path", [5, None, "a\0b", b"bytes"], ids=repr)
async def test_what_is_no_path_is_refused(memory: AsyncMemory, path: Any) -> None:
    for call in (memory.admin.export, memory.admin.import_, memory.admin.restore):
        with pytest.raises(InvalidInputError, match="path must be the name of a file"):
            await call(path)


async def test_owners_are_listed_by_name(memory: AsyncMemory) -> None:
    for owner in ("carol", "bob", "alice"):
        await memory.retain(["x", "y"], owner=owner)
    assert list(await memory.admin.owners()) == ["alice", "bob", "carol"]
    assert list(await memory.admin.owners(after="alice", limit=1)) == ["bob"]
    with pytest.raises(MnemicError):
        await memory.admin.owners(limit=0)
