"""Changes of memories: update, supersede, forget, restore, revert."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.sdk.memory import AsyncMemory
from tests.fresh_tenants import OpenMemory, Rows, contents, vector_of
from tests.many_writers import WRITERS
from tests.opened import core_of
from tests.unsteady_engine import Unsteady

NAIVE = datetime(2026, 3, 1, 10, 0)


async def retain_one(memory: AsyncMemory, content: str, **fields: Any) -> UUID:
    (memory_id,) = (await memory.retain(content, **fields)).memory_ids
    return memory_id


async def test_an_update_is_a_new_version_and_keeps_the_old_one(memory: AsyncMemory) -> None:
    memory_id = await retain_one(memory, "Alice lives in Berlin.", tags=["home"])
    first = await memory.memories.get(memory_id)
    second = await memory.memories.update(
        memory_id,
        content="Alice lives in Bonn.",
        category="preference",
        tags=["New"],
        metadata={"a": 1},
        confidence=0.5,
        anchored=True,
        at="2026-03-01T10:00:00Z",
        valid_from="2026-03-01T10:00:00Z",
        valid_to="2026-04-01T10:00:00Z",
        expires_at="2027-03-01T10:00:00Z",
        changed_by="system",
        reason="a letter",
    )
    assert (second.version, second.changed_by, second.change_reason) == (2, "system", "a letter")
    assert (
        second.content,
        second.category,
        second.tags,
        second.metadata,
        second.confidence,
        second.anchored,
    ) == (
        "Alice lives in Bonn.",
        "preference",
        ("new",),
        {"a": 1},
        0.5,
        True,
    )
    assert second.recorded_at > first.recorded_at
    assert second.created_at == first.created_at
    assert list(await memory.memories.history(memory_id)) == [first, second]
    assert await memory.memories.get(memory_id) == second


async def test_a_change_without_effect_makes_no_version_and_keeps_the_reason(memory: AsyncMemory) -> None:
    memory_id = await retain_one(memory, "Alice lives in Berlin.", tags=["home"])
    changed = await memory.memories.tag(memory_id, "city")
    for same in (
        memory.memories.update(
            memory_id, content="Alice lives in Berlin.", reason="no news", changed_by="system"
        ),
        memory.memories.tag(memory_id, "HOME"),
        memory.memories.untag(memory_id, "unknown"),
        memory.memories.restore(memory_id, reason="not gone"),
        memory.memories.revert(memory_id, 2),
    ):
        assert await same == changed
    forgotten = await memory.memories.forget(memory_id, reason="first")
    assert await memory.memories.forget(memory_id, reason="second") == forgotten


async def test_changed_content_is_found_by_lexical_and_vector_search(memory: AsyncMemory, rows: Rows) -> None:
    memory_id = await retain_one(memory, "Alice lives in Berlin.")
    old_vector = vector_of(rows, memory_id)
    await memory.memories.update(memory_id, content="Alice plays the cello.")
    new_vector = vector_of(rows, memory_id)
    found = (
        "SELECT count(*) FROM state.memories WHERE memory_id = %s AND words @@ plainto_tsquery('english', %s)"
    )
    assert [rows.value(found, memory_id, word) for word in ("cello", "Berlin")] == [1, 0]
    assert None is not new_vector != old_vector
    await memory.memories.revert(memory_id, 1)
    assert vector_of(rows, memory_id) == old_vector
    await memory.memories.tag(memory_id, "music")
    assert vector_of(rows, memory_id) == old_vector


async def test_changed_content_updates_the_mentions(memory: AsyncMemory) -> None:
    berlin = await memory.entities.upsert("city", "Berlin")
    bonn = await memory.entities.upsert("city", "Bonn")
    memory_id = await retain_one(memory, "Alice lives in Berlin.")
    assert list(await memory.entities.mentions(berlin)) == [memory_id]
    await memory.memories.update(memory_id, content="Alice lives in Bonn.")
    assert list(await memory.entities.mentions(bonn)) == [memory_id]
    assert list(await memory.entities.mentions(berlin)) == []


async def test_an_update_without_embedder_deletes_the_old_vector(open_memory: OpenMemory, rows: Rows) -> None:
    engine = Unsteady()
    memory = await open_memory(embedder=engine)
    memory_id = await retain_one(memory, "Alice lives in Berlin.")
    old_vector = vector_of(rows, memory_id)
    engine.failing = True
    await memory.memories.update(memory_id, content="Alice lives in Bonn.")
    assert vector_of(rows, memory_id) is None
    assert (await memory.admin.stats()).awaiting_embedding_count == 1
    engine.failing = False
    assert await memory.admin.embed_backlog() == 1
    assert None is not vector_of(rows, memory_id) != old_vector


async def test_an_update_that_embeds_removes_the_memory_from_the_backlog(open_memory: OpenMemory) -> None:
    engine = Unsteady()
    engine.failing = True
    memory = await open_memory(embedder=engine)
    memory_id = await retain_one(memory, "Alice lives in Berlin.")
    engine.failing = False
    await memory.memories.update(memory_id, content="Alice lives in Bonn.")
    assert (await memory.admin.stats()).awaiting_embedding_count == 0


async def test_of_two_updates_at_once_the_last_one_wins_with_its_vector(
    open_memory: OpenMemory, rows: Rows
) -> None:
    engine = Unsteady()
    memory = await open_memory(embedder=engine)
    memory_id = await retain_one(memory, "one")

    async def somebody_else() -> None:
        await memory.memories.update(memory_id, content="three")

    engine.meanwhile = somebody_else
    updated = await memory.memories.update(memory_id, content="two")
    assert (updated.content, updated.version) == ("two", 3)
    two = vector_of(rows, memory_id)
    await memory.memories.revert(memory_id, 2)
    assert vector_of(rows, memory_id) != two
    await memory.memories.revert(memory_id, 3)
    assert vector_of(rows, memory_id) == two


async def test_a_revert_fails_if_the_content_changes_meanwhile(
    open_memory: OpenMemory, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The content changes after the revert read the memory, so the revert has no vector for it."""
    memory = await open_memory()
    memory_id = await retain_one(memory, "one")
    one = vector_of(rows, memory_id)
    await memory.memories.tag(memory_id, "x")
    place = core_of(memory).storage.tenant_database
    run = type(place).run

    async def change_first(self: object, work: Any) -> Any:
        monkeypatch.setattr(type(place), "run", run)
        await memory.memories.update(memory_id, content="two")
        return await run(self, work)  # type: ignore[arg-type]

    monkeypatch.setattr(type(place), "run", change_first)
    with pytest.raises(ConflictError, match="changed by somebody else"):
        await memory.memories.revert(memory_id, 1)
    record = await memory.memories.get(memory_id)
    assert (record.content, vector_of(rows, memory_id) == one) == ("two", False)


async def test_of_many_changes_at_once_none_is_lost_and_versions_have_no_gaps(memory: AsyncMemory) -> None:
    memory_id = await retain_one(memory, "x")
    await asyncio.gather(*(memory.memories.tag(memory_id, f"tag {number}") for number in range(WRITERS)))
    history = await memory.memories.history(memory_id)
    assert [record.version for record in history] == list(range(1, WRITERS + 2))
    assert [len(record.tags) for record in history] == list(range(WRITERS + 1))
    for record in history:
        assert await memory.memories.as_of(memory_id, record.recorded_at) == record


BAD_CHANGES: list[tuple[dict[str, Any], str]] = [
    ({}, "Nothing to change"),
    ({"content": ""}, "content must not be empty"),
    ({"content": "\ud800"}, "content is not valid Unicode"),
    ({"content": "x" * 8193}, "content has 8,193 characters; the limit is 8,192"),
    ({"category": "fact"}, "category must be one of"),
    ({"tags": ["t" * 65]}, "has 65"),
    ({"metadata": {"a": object()}}, "metadata must be JSON"),
    ({"confidence": 1.2}, "confidence must be a number from 0 to 1"),
    ({"anchored": 1}, "anchored must be True or False"),
    ({"at": NAIVE}, "at has no time zone"),
    ({"valid_to": "2020-01-01T00:00:00Z"}, "valid_to must be after valid_from"),
    ({"tags": ["x"], "changed_by": "me"}, "changed_by must be one of"),
    ({"tags": ["x"], "reason": "r" * 1025}, "reason has 1,025 characters"),
    ({"tags": ["x"], "reason": "\0"}, "reason must not contain NUL"),
]


async def test_a_bad_change_is_refused_and_nothing_is_written(
    memory: AsyncMemory, rows: Rows, subtests: pytest.Subtests
) -> None:
    memory_id = await retain_one(memory, "x", valid_from="2026-01-01T00:00:00Z")
    before = await memory.memories.get(memory_id), rows.counts(memory.tenant.id)
    for changes, message in BAD_CHANGES:
        with subtests.test(message):
            with pytest.raises(InvalidInputError, match=message):
                await memory.memories.update(memory_id, **changes)
            assert (await memory.memories.get(memory_id), rows.counts(memory.tenant.id)) == before


@pytest.mark.parametrize("memory_id", ["", "x", 5, None, b"x"], ids=repr)
async def test_invalid_ids_are_refused(memory: AsyncMemory, memory_id: Any) -> None:
    for call in (memory.memories.get, memory.memories.forget, memory.memories.history, memory.memories.whole):
        with pytest.raises(InvalidInputError, match="memory_id must be an id"):
            await call(memory_id)


@pytest.mark.parametrize("version", [0, 2, -1, 10**30])
async def test_an_unknown_version_is_not_found(memory: AsyncMemory, version: int) -> None:
    memory_id = await retain_one(memory, "x")
    with pytest.raises(NotFoundError, match="no version"):
        await memory.memories.revert(memory_id, version)


@pytest.mark.parametrize("version", ["1", 1.0, True, None], ids=repr)
async def test_invalid_versions_are_refused(memory: AsyncMemory, version: Any) -> None:
    memory_id = await retain_one(memory, "x")
    with pytest.raises(InvalidInputError, match="version must be a whole number"):
        await memory.memories.revert(memory_id, version)


async def test_an_update_to_the_content_of_another_memory_is_refused(memory: AsyncMemory) -> None:
    await retain_one(memory, "taken")
    memory_id = await retain_one(memory, "free")
    with pytest.raises(ConflictError):
        await memory.memories.update(memory_id, content="taken")
    assert (await memory.memories.get(memory_id)).version == 1


async def test_forgotten_memories_are_listed_on_request_and_can_be_restored(memory: AsyncMemory) -> None:
    memory_id = await retain_one(memory, "x")
    forgotten = await memory.memories.forget(memory_id, reason="wrong")
    assert forgotten.deleted_at is not None
    assert await memory.memories.list() == []
    assert list(await memory.memories.list(include_forgotten=True)) == [forgotten]
    restored = await memory.memories.restore(memory_id)
    assert (restored.deleted_at, restored.version) == (None, 3)


async def test_a_memory_is_not_restored_if_an_active_one_has_its_content(memory: AsyncMemory) -> None:
    memory_id = await retain_one(memory, "x")
    await memory.memories.forget(memory_id)
    again = await retain_one(memory, "x")
    with pytest.raises(ConflictError):
        await memory.memories.restore(memory_id)
    await memory.memories.forget(again)
    assert (await memory.memories.restore(memory_id)).status == "active"


async def test_superseding_links_both_and_ends_the_validity_of_the_old_one(
    memory: AsyncMemory, rows: Rows
) -> None:
    old_id = await retain_one(
        memory, "Alice lives in Berlin.", tags=["home"], channel="work", category="preference", name="Bob"
    )
    new = await memory.memories.supersede(
        old_id, "Alice lives in Bonn.", valid_from="2026-03-01T00:00:00Z", reason="a letter"
    )
    old = await memory.memories.get(old_id)
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    assert (new.category, new.tags, new.channel, new.name, new.valid_from) == (
        "preference",
        ("home",),
        "work",
        "Bob",
        moment,
    )
    assert (old.status, old.superseded_by, old.valid_to, old.change_reason, old.version) == (
        "superseded",
        new.memory_id,
        moment,
        "a letter",
        2,
    )
    (link,) = await memory.memories.related(old_id, kinds=["supersedes"])
    assert (link.from_id, link.to_id) == (new.memory_id, old_id)
    assert contents(await memory.memories.list()) == ["Alice lives in Bonn."]
    assert vector_of(rows, new.memory_id) is not None


async def test_superseding_never_prolongs_the_validity_of_the_old_one(memory: AsyncMemory) -> None:
    until = datetime(2020, 1, 1, tzinfo=UTC)
    old_id = await retain_one(memory, "Alice lives in Berlin.", valid_to=until)
    await memory.memories.supersede(old_id, "Alice lives in Bonn.")
    assert (await memory.memories.get(old_id)).valid_to == until


@pytest.mark.parametrize("valid_to", [None, "2030-01-01T00:00:00Z"])
async def test_restoring_a_superseded_memory_restores_its_validity(
    memory: AsyncMemory, valid_to: str | None
) -> None:
    old_id = await retain_one(memory, "Alice lives in Berlin.", valid_to=valid_to)
    before = await memory.memories.get(old_id)
    await memory.memories.supersede(old_id, "Alice lives in Bonn.")
    await memory.memories.tag(old_id, "doubtful")
    await memory.memories.forget(old_id)
    restored = await memory.memories.restore(old_id)
    assert (restored.status, restored.superseded_by, restored.deleted_at) == ("active", None, None)
    assert (restored.valid_to, restored.tags) == (before.valid_to, ("doubtful",))


async def test_a_turn_is_superseded_by_a_fact(memory: AsyncMemory) -> None:
    old_id = await retain_one(memory, "I live in Berlin.", role="user", conversation="c")
    new = await memory.memories.supersede(old_id, "Alice lives in Bonn.")
    assert (new.category, new.conversation) == ("factual", None)


async def test_a_memory_may_be_superseded_by_an_existing_one(memory: AsyncMemory) -> None:
    old_id = await retain_one(memory, "Alice lives in Berlin.")
    bonn = await retain_one(memory, "Alice lives in Bonn.")
    assert (await memory.memories.supersede(old_id, "Alice lives in Bonn.")).memory_id == bonn
    assert (await memory.memories.get(old_id)).superseded_by == bonn


async def test_superseding_again_names_the_successor(memory: AsyncMemory, rows: Rows) -> None:
    old_id = await retain_one(memory, "Alice lives in Berlin.")
    new = await memory.memories.supersede(old_id, "Alice lives in Bonn.")
    before = rows.counts(memory.tenant.id)
    with pytest.raises(ConflictError, match=str(new.memory_id)):
        await memory.memories.supersede(old_id, "Alice lives in Rome.")
    assert rows.counts(memory.tenant.id) == before


async def test_of_concurrent_calls_that_supersede_one_memory_one_succeeds(memory: AsyncMemory) -> None:
    old_id = await retain_one(memory, "Alice lives in Berlin.")
    outcomes = await asyncio.gather(
        *(memory.memories.supersede(old_id, f"Alice lives in city {number}.") for number in range(WRITERS)),
        return_exceptions=True,
    )
    assert sum(isinstance(outcome, ConflictError) for outcome in outcomes) == WRITERS - 1
    (kept,) = await memory.memories.list()
    assert (await memory.memories.get(old_id)).superseded_by == kept.memory_id


BAD_SUCCESSORS: list[tuple[dict[str, Any], str]] = [
    ({"content": "old"}, "the same as the old one"),
    ({"content": ""}, "content must not be empty"),
    ({"content": "new", "valid_from": "2026-01-01T00:00:00Z"}, "valid_from must be after"),
    ({"content": "new", "valid_from": NAIVE}, "valid_from has no time zone"),
    ({"content": "new", "reason": "\ud800"}, "reason is not valid Unicode"),
    ({"content": "new", "reason": "r" * 1025}, "reason has 1,025"),
]


async def test_a_bad_successor_is_refused_and_nothing_is_written(
    memory: AsyncMemory, rows: Rows, subtests: pytest.Subtests
) -> None:
    old_id = await retain_one(memory, "old", valid_from="2026-01-01T00:00:00Z")
    before = rows.counts(memory.tenant.id)
    for arguments, message in BAD_SUCCESSORS:
        with subtests.test(message):
            with pytest.raises(InvalidInputError, match=message):
                await memory.memories.supersede(old_id, **arguments)
            assert rows.counts(memory.tenant.id) == before


async def test_lists_are_filtered_and_paged(memory: AsyncMemory) -> None:
    now = datetime.now(UTC)
    items = [
        {
            "content": f"memory {number}",
            "category": "factual" if number % 2 else "preference",
            "at": now - timedelta(days=number),
        }
        for number in range(10)
    ]
    await memory.retain(items, channel="work")
    await memory.retain("elsewhere", conversation="c")
    found = await memory.memories.list(categories=["factual"], channel="work", limit=2)
    assert contents(found) == ["memory 9", "memory 7"]
    found = await memory.memories.list(categories=["factual"], channel="work", before=found[-1].memory_id)
    assert contents(found) == ["memory 5", "memory 3", "memory 1"]
    found = await memory.memories.list(since=now - timedelta(days=3), until=now, channel="work")
    assert contents(found) == ["memory 3", "memory 2", "memory 1"]
    assert contents(await memory.memories.list(conversation="c")) == ["elsewhere"]
    assert await memory.memories.list(statuses=["archived"]) == []


BAD_FILTERS: list[dict[str, Any]] = [
    {"limit": 0},
    {"limit": 1001},
    {"limit": "5"},
    {"categories": ["fact"]},
    {"statuses": ["gone"]},
    {"since": NAIVE},
    {"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"},
    {"before": "x"},
    {"tags": "home"},
    {"channel": ""},
    {"categories": 5},
    {"include_forgotten": "yes"},
]


async def test_a_bad_filter_is_refused(memory: AsyncMemory, subtests: pytest.Subtests) -> None:
    for filters in BAD_FILTERS:
        with subtests.test(filters=filters), pytest.raises(InvalidInputError):
            await memory.memories.list(**filters)
