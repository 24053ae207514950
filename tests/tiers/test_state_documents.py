"""State documents: one JSON document per key, changed by compare-and-set."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.errors import ConflictError, InvalidInputError, OwnerRequiredError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.tiers import StateDocument
from tests.conftest import AppConnection
from tests.many_writers import WRITERS
from tests.opened import core_of, opened
from tests.two_tenants import CountRows
from tests.waiting import wait_for


async def test_a_document_is_read_as_it_was_written(memory: AsyncMemory) -> None:
    written = await memory.state.set("plan", {"step": 1, "notes": ["ä", None, 1.5]})
    assert written == await memory.state.get("plan")
    assert (written.owner, written.key, written.version, written.process) == ("alice", "plan", 1, "sdk")
    assert written.document == {"step": 1, "notes": ["ä", None, 1.5]}


async def test_each_change_increments_the_version(memory: AsyncMemory) -> None:
    first = await memory.state.set("plan", 1)
    second = await memory.state.set("plan", None)
    assert (second.version, second.document, second.created_at) == (2, None, first.created_at)
    assert second.updated_at > first.updated_at


async def test_a_missing_document_is_none(memory: AsyncMemory) -> None:
    assert await memory.state.get("plan") is None
    assert await memory.state.delete("plan") is False


async def test_a_document_is_deleted_at_the_expected_version(memory: AsyncMemory) -> None:
    await memory.state.set("plan", 1)
    assert await memory.state.delete("plan", expected_version=2) is False
    assert await memory.state.delete("plan", expected_version=1) is True
    assert await memory.state.get("plan") is None


@pytest.mark.parametrize(("existing", "expected"), [(0, 1), (1, 0), (1, 2), (2, 1)])
async def test_an_unexpected_version_is_a_conflict(memory: AsyncMemory, existing: int, expected: int) -> None:
    for version in range(existing):
        await memory.state.set("plan", version)
    with pytest.raises(ConflictError, match=f"not at version {expected}"):
        await memory.state.set("plan", "mine", expected_version=expected)
    kept = await memory.state.get("plan")
    assert (kept.version if kept else 0) == existing


async def test_a_concurrently_deleted_document_is_not_recreated(
    wide_memory: AsyncMemory, admin: AppConnection
) -> None:
    """A writer that expects version 1 waits for a deletion that commits."""
    await wide_memory.state.set("plan", 1)
    place = core_of(wide_memory).storage.tenant_database
    async with place.transaction() as transaction:
        parameters = {"owner": "alice", "key": "plan", "expected_version": None}
        await transaction.execute("state_documents.delete", parameters)
        late = asyncio.create_task(wide_memory.state.set("plan", 2, expected_version=1))
        await wait_for(lambda: waiting_for_locks(admin) == 1, what="the late writer to wait")
    with pytest.raises(ConflictError):
        await late
    assert await wide_memory.state.get("plan") is None


def waiting_for_locks(admin: AppConnection) -> int:
    row = admin.execute(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    ).fetchone()
    assert row is not None
    return int(str(row[0]))


async def test_many_writers_lose_no_update(wide_memory: AsyncMemory) -> None:
    await wide_memory.state.set("counter", 0)

    async def add_one() -> None:
        while True:
            read = await wide_memory.state.get("counter")
            assert read is not None
            try:
                await wide_memory.state.set("counter", read.document + 1, expected_version=read.version)
                return
            except ConflictError:
                continue

    await asyncio.gather(*(add_one() for _ in range(WRITERS)))
    final = await wide_memory.state.get("counter")
    assert final is not None
    assert (final.document, final.version) == (WRITERS, WRITERS + 1)


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_exactly_one_of_many_writers_that_expect_a_version_succeeds(
    wide_memory: AsyncMemory, version: int
) -> None:
    for number in range(version):
        await wide_memory.state.set("plan", number)
    together = asyncio.Barrier(WRITERS)

    async def try_to_write(writer: int) -> StateDocument:
        await together.wait()
        return await wide_memory.state.set("plan", f"writer {writer}", expected_version=version)

    outcomes = await asyncio.gather(
        *(try_to_write(writer) for writer in range(WRITERS)), return_exceptions=True
    )
    (winner,) = [outcome for outcome in outcomes if isinstance(outcome, StateDocument)]
    assert sum(isinstance(outcome, ConflictError) for outcome in outcomes) == WRITERS - 1
    assert winner == await wide_memory.state.get("plan")
    assert winner.version == version + 1


async def test_writers_without_expected_version_all_succeed(wide_memory: AsyncMemory) -> None:
    written = await asyncio.gather(*(wide_memory.state.set("plan", number) for number in range(WRITERS)))
    assert sorted(document.version for document in written) == list(range(1, WRITERS + 1))


async def test_documents_are_paged_by_key_and_prefix(memory: AsyncMemory) -> None:
    for key in ("b/2", "a", "b/1", "c", "b/3"):
        await memory.state.set(key, key)
    assert [document.key for document in await memory.state.list()] == ["a", "b/1", "b/2", "b/3", "c"]
    assert [document.key for document in await memory.state.list(prefix="b/", limit=2)] == ["b/1", "b/2"]
    assert [document.key for document in await memory.state.list(prefix="b/", after="b/2")] == ["b/3"]


async def test_owners_and_tenants_are_isolated(memory: AsyncMemory, foreign_memory: AsyncMemory) -> None:
    await memory.state.set("plan", "alice of A")
    await foreign_memory.state.set("plan", "alice of B")
    await memory.state.set("plan", "bob of A", owner="bob")
    found = [await memory.state.get("plan"), await foreign_memory.state.get("plan")]
    assert [document.document for document in found if document] == ["alice of A", "alice of B"]
    assert await foreign_memory.state.get("plan", owner="bob") is None
    assert await foreign_memory.state.delete("plan", owner="bob") is False


Call = Callable[[Any], Coroutine[Any, Any, object]]


BAD_INPUT: list[tuple[Call, str]] = [
    (lambda memory: memory.state.set("", 1), "key must have 1 to 256"),
    (lambda memory: memory.state.set("  ", 1), "key must have 1 to 256"),
    (lambda memory: memory.state.set("k" * 257, 1), "key must have 1 to 256"),
    (lambda memory: memory.state.set(7, 1), "key must be text, not int"),
    (lambda memory: memory.state.set("a\0b", 1), "key must not contain control characters"),
    (lambda memory: memory.state.set("\ud800", 1), "key must not contain control characters"),
    (lambda memory: memory.state.set("k", object()), "document must be JSON"),
    (lambda memory: memory.state.set("k", {1, 2}), "document must be JSON"),
    (lambda memory: memory.state.set("k", float("nan")), "document must be JSON"),
    (lambda memory: memory.state.set("k", "\ud800"), "document must be JSON"),
    (lambda memory: memory.state.set("k", ["a\0b"]), "document must not contain NUL"),
    (lambda memory: memory.state.set("k", "x" * 1_100_000), "the limit is 1,048,576"),
    (lambda memory: memory.state.set("k", 1, expected_version=-1), "expected_version"),
    (lambda memory: memory.state.set("k", 1, expected_version=True), "expected_version"),
    (lambda memory: memory.state.set("k", 1, expected_version="1"), "expected_version"),
    (lambda memory: memory.state.set("k", 1, expected_version=2**31), "expected_version"),
    (lambda memory: memory.state.set("k", 1, owner=""), "owner"),
    (lambda memory: memory.state.set("k", 1, owner="a\nb"), "owner"),
    (lambda memory: memory.state.get(None), "key must be text"),
    (lambda memory: memory.state.delete("k", expected_version=1.0), "expected_version"),
    (lambda memory: memory.state.list(prefix="a\0"), "prefix"),
    (lambda memory: memory.state.list(prefix=None), "prefix must be text"),
    (lambda memory: memory.state.list(after=b"x"), "after must be text"),
    (lambda memory: memory.state.list(limit=0), "limit"),
    (lambda memory: memory.state.list(limit=1001), "limit"),
]


async def test_bad_input_is_refused_and_nothing_is_written(
    memory: AsyncMemory, count_rows: CountRows, subtests: pytest.Subtests
) -> None:
    for call, said in BAD_INPUT:
        with subtests.test(said):
            with pytest.raises(InvalidInputError, match=said):
                await call(memory)
            assert count_rows() == 0


async def test_every_call_needs_an_owner(database: Database, tenant_a: Tenant, count_rows: CountRows) -> None:
    with pytest.raises(OwnerRequiredError):
        await opened(database, tenant_a, owner=None).state.set("plan", 1)
    assert count_rows() == 0
