"""mem0's memories, from its answers as JSON and from a local store that the real mem0 made."""

import json
import pickle
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.importing import batches, import_from, mem0_store
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.sdk.memory import AsyncMemory
from tests.fresh_tenants import OpenMemory, contents
from tests.importers.conftest import Write

WRITER = Path(__file__).with_name("mem0_writer.py")
SECONDS_MAX = 300


def answer(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"id-{number}",
        "memory": f"Fact {number}.",
        "hash": "0",
        "metadata": {"topic": "tea"},
        "user_id": "alice",
        "created_at": "2026-03-01T10:00:00.374591-07:00",
        "updated_at": None,
        **changes,
    }


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """A folder that mem0 wrote, and what it says is in it."""
    folder = tmp_path_factory.mktemp("mem0")
    done = subprocess.run(
        [sys.executable, str(WRITER), str(folder)],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


async def test_a_real_local_store_is_read(open_memory: OpenMemory, real: tuple[Path, list[Any]]) -> None:
    memory, (folder, answers) = await open_memory(owner=None), real
    report = await import_from(memory, "mem0", folder / "qdrant", owner_from_source=True)
    assert report.owners == {"alice": 3, "bob": 1}
    for user, answered in zip(("alice", "bob"), answers, strict=True):
        held = {record.external_id: record for record in await memory.memories.list(owner=user)}
        assert len(held) == len(answered["results"])
        for wanted in answered["results"]:
            record = held[f"mem0:{wanted['id']}"]
            assert record.content == wanted["memory"]
            assert record.at is not None
            assert record.at.isoformat() == wanted["created_at"]
            assert record.metadata["mem0"]["role"] == wanted["role"]
            assert {name: record.metadata[name] for name in wanted["metadata"] or {}} == (
                wanted["metadata"] or {}
            )


async def test_the_store_and_mem0s_json_give_the_same_memories(
    memory: AsyncMemory, real: tuple[Path, list[Any]], write: Write
) -> None:
    folder, answers = real
    first = await import_from(memory, "mem0", write("answers.json", *answers))
    assert (first.imported_count, first.known_count, first.skipped_count) == (4, 0, 0)
    (store,) = folder.glob("qdrant/collection/mem0/storage.sqlite")
    for path in (folder / "qdrant", store, store.parent):
        again = await import_from(memory, "mem0", path)
        assert (again.imported_count, again.known_count, again.skipped_count) == (0, 4, 0)


async def test_the_history_is_not_accepted_as_a_store(
    memory: AsyncMemory, real: tuple[Path, list[Any]]
) -> None:
    with pytest.raises(InvalidInputError, match="not the history"):
        await import_from(memory, "mem0", real[0] / "history.db")


class Harm:
    """A pickle that runs a command where it is trusted."""

    def __init__(self, made: Path) -> None:
        self._made = made

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self._made,)


def store_with(path: Path, *points: bytes) -> Path:
    path.mkdir(parents=True)
    with sqlite3.connect(path / "storage.sqlite") as store:
        store.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
        store.executemany("INSERT INTO points VALUES (?, ?)", enumerate(points))
    store.close()
    return path


async def test_a_harmful_pickle_does_nothing(memory: AsyncMemory, tmp_path: Path) -> None:
    harm = pickle.dumps(Harm(tmp_path / "harmed"))
    with pytest.raises(InvalidInputError, match="point 1 has no payload"):
        await import_from(memory, "mem0", store_with(tmp_path / "store", harm))
    assert not (tmp_path / "harmed").exists()
    pickle.loads(harm)
    assert (tmp_path / "harmed").exists(), "it would have, if it had been trusted"


@pytest.mark.parametrize(
    ("point", "said"),
    [(b"no pickle", "point 1 cannot be read"), (pickle.dumps({"id": 1}), "not a point of Qdrant")],
)
async def test_a_damaged_point_is_an_error(
    memory: AsyncMemory, tmp_path: Path, point: bytes, said: str
) -> None:
    with pytest.raises(InvalidInputError, match=said):
        await import_from(memory, "mem0", store_with(tmp_path / "store", point))


async def test_a_small_pickle_takes_no_large_memory(memory: AsyncMemory, tmp_path: Path) -> None:
    greedy = pickle.PROTO + b"\x04" + pickle.NONE + pickle.LONG_BINPUT + b"\xff\xff\xff\x7f" + pickle.STOP
    tracemalloc.start()
    with pytest.raises(InvalidInputError, match="not a point of Qdrant"):
        await import_from(memory, "mem0", store_with(tmp_path / "store", greedy))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 50_000_000


def test_a_self_referencing_value_is_not_expanded() -> None:
    value: list[Any] = ["x"]
    for _ in range(60):
        value = [value, value]
    assert mem0_store._has_more_values({"a": value}, 1_000)
    assert not mem0_store._has_more_values({"a": list(range(900))}, 1_000)


async def test_all_forms_of_mem0s_json_are_read(memory: AsyncMemory, write: Write) -> None:
    shapes = [
        write("list.json", [answer(1), answer(2)]),
        write("page.json", {"count": 2, "next": None, "results": [answer(1), answer(2)]}),
        write("lines.jsonl", answer(1), answer(2), answer(3)),
    ]
    reports = [await import_from(memory, "mem0", path) for path in shapes]
    assert [(report.imported_count, report.known_count) for report in reports] == [(2, 0), (0, 2), (1, 2)]


async def test_fields_are_kept(memory: AsyncMemory, write: Write) -> None:
    full = answer(
        1,
        agent_id="agent",
        run_id="run",
        categories=["Hobbies", "music"],
        expiration_date="2126-01-01",
        created_at="2026-03-01T10:00:00",
    )
    await import_from(memory, "mem0", write("answers.json", [full]))
    (record,) = await memory.memories.list()
    assert (record.category, record.source, record.tags) == ("factual", "imported", ("hobbies", "music"))
    assert record.metadata == {
        "topic": "tea",
        "mem0": {"user_id": "alice", "agent_id": "agent", "run_id": "run"},
    }
    assert f"{record.at} {record.expires_at}" == "2026-03-01 10:00:00+00:00 2126-01-01 00:00:00+00:00"


async def test_invalid_records_are_skipped_with_their_reason(memory: AsyncMemory, write: Write) -> None:
    odd = [
        answer(1, memory=" "),
        answer(2, id=None),
        answer(3, created_at="soon"),
        answer(4, metadata=[1]),
        answer(5, categories="x"),
        answer(6, memory="a\0b"),
        answer(7),
    ]
    report = await import_from(memory, "mem0", write("answers.json", odd))
    assert (report.imported_count, report.skipped_count) == (1, 6)
    assert [skipped.reason.split()[0] for skipped in report.skipped] == [
        "memory",
        "id",
        "created_at",
        "metadata",
        "categories",
        "content",
    ]
    assert [skipped.record for skipped in report.skipped][:2] == [
        "answers.json, record 1",
        "answers.json, record 2",
    ]


async def test_batches_of_many_owners_stay_apart(
    open_memory: OpenMemory, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "BATCH_ITEMS_MAX", 3)
    monkeypatch.setattr(batches, "WAITING_ITEMS_MAX", 5)
    memory = await open_memory(owner=None)
    many = [answer(number, user_id=f"user {number % 4}") for number in range(22)]
    done: list[int] = []
    report = await import_from(
        memory, "mem0", write("many.jsonl", *many), owner_from_source=True, on_progress=done.append
    )
    assert (report.imported_count, done[-1], done) == (22, 22, sorted(done))
    assert report.owners == {"user 0": 6, "user 1": 6, "user 2": 5, "user 3": 5}
    assert contents(await memory.memories.list(owner="user 3"))[::-1] == [
        f"Fact {number}." for number in range(3, 22, 4)
    ]


async def test_a_malformed_record_ends_the_import_and_earlier_batches_stay(
    memory: AsyncMemory, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "BATCH_ITEMS_MAX", 2)
    path = write("lines.jsonl", *(answer(number) for number in range(3)))
    path.write_text(path.read_text() + '\n{"id": ')
    with pytest.raises(InvalidInputError, match="record 4, line 4"):
        await import_from(memory, "mem0", path)
    assert contents(await memory.memories.list())[::-1] == ["Fact 0.", "Fact 1."]


async def test_an_unknown_source_and_a_missing_file_are_errors(memory: AsyncMemory, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="source must be one of mem0, mcp-memory"):
        await import_from(memory, "zep", tmp_path)  # type: ignore[arg-type]
    with pytest.raises(NotFoundError, match="cannot be read"):
        await import_from(memory, "mem0", tmp_path / "missing.json")
