"""A branch reads its own memories, and those of its parent as of the fork."""

import asyncio
from typing import Any

import pytest

from mnemic.db.database import TenantDatabase
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.record.branches import BRANCHES_MAX, DEPTH_MAX
from mnemic.sdk.memory import AsyncMemory
from tests.fresh_tenants import contents

PARIS = "Alice lives in Paris."
BERLIN = "Alice lives in Berlin."
CATS = "Alice keeps two cats."


async def recalled(memory: AsyncMemory, query: str = "Where does Alice live?", **options: object) -> set[str]:
    found = await memory.recall(query, refuse_below=0, limit=50, **options)  # type: ignore[arg-type]
    return {hit.memory.content for hit in found}


async def listed(memory: AsyncMemory, channel: str | None) -> set[str]:
    return set(contents(await memory.memories.list(channel=channel)))


async def test_a_branch_reads_through_to_its_parent(memory: AsyncMemory) -> None:
    await memory.retain([PARIS, CATS])
    branch = await memory.channels.fork("what-if", reason="trying it out")
    assert (branch.channel, branch.parent, branch.state, branch.memory_count) == (
        "what-if",
        "_global",
        "open",
        0,
    )
    assert branch.reason == "trying it out"
    await memory.retain(BERLIN, channel="what-if")
    everything = {PARIS, BERLIN, CATS}
    assert await recalled(memory, channel="what-if") == everything
    assert await recalled(memory.scope(channel="what-if")) == everything
    assert await recalled(memory, channels=["what-if"]) == everything
    assert await listed(memory, "what-if") == everything


async def test_what_a_branch_stores_stays_in_it(memory: AsyncMemory) -> None:
    await memory.retain(PARIS)
    await memory.channels.fork("what-if")
    await memory.retain(BERLIN, channel="what-if", conversation="planning")
    assert await recalled(memory) == await listed(memory, None) == await listed(memory, "_global") == {PARIS}
    assert await recalled(memory, channel="elsewhere") == {PARIS}
    assert await memory.conversations.list() == []
    assert await memory.conversations.recent() == []
    (conversation,) = await memory.conversations.list(channel="what-if")
    assert contents(await memory.conversations.turns(conversation.conversation)) == [BERLIN]
    profile = await memory.profile()
    assert BERLIN not in profile.text
    assert BERLIN in (await memory.profile(channel="what-if")).text


async def test_later_changes_of_the_parent_are_not_visible_in_a_branch(memory: AsyncMemory) -> None:
    kept = await memory.retain([PARIS, CATS, "Alice plays chess on Mondays.", "Alice has an old bicycle."])
    moved, changed, forgotten, tagged = kept.memory_ids
    await memory.channels.fork("what-if")
    before = await listed(memory, "what-if")
    await memory.memories.supersede(moved, "Alice lives in Rome.")
    await memory.memories.update(changed, content="Alice keeps three dogs.")
    await memory.memories.forget(forgotten)
    await memory.memories.tag(tagged, "vehicles")
    await memory.retain("Alice lives near the station.")
    assert await listed(memory, "what-if") == before
    assert await recalled(memory, channel="what-if") == before
    assert await recalled(memory, "two cats", channel="what-if", techniques=["text"]) >= {CATS}
    assert await recalled(memory, "dogs", channel="what-if", techniques=["text"]) == set()
    assert await recalled(memory, "cats", channel="what-if", tags=["vehicles"]) == set()
    assert "Alice lives in Rome." in await recalled(memory)


async def test_a_long_text_is_read_as_it_was_at_the_fork(memory: AsyncMemory) -> None:
    long = "Alice lives in Paris. " * 200
    memory_id = (await memory.retain(long.strip())).memory_ids[0]
    await memory.channels.fork("what-if")
    await memory.memories.tag(memory_id, "later")
    found = await memory.recall("Where does Alice live?", channel="what-if", refuse_below=0)
    assert [hit.memory.tags for hit in found] == [()] * len(found)
    assert len(found) > 0


async def test_filters_of_recall_work_in_a_branch(memory: AsyncMemory) -> None:
    await memory.retain([{"content": PARIS, "tags": ["home"], "at": "2026-01-05"}, CATS])
    await memory.channels.fork("what-if")
    await memory.retain(BERLIN, channel="what-if", tags=["home"], at="2026-02-07")
    await memory.retain("Alice lives on a boat.", tags=["home"])
    assert await recalled(memory, channel="what-if", tags=["home"]) == {PARIS, BERLIN}
    assert await recalled(memory, channel="what-if", since="2026-02-01", until="2026-03-01") == {BERLIN}
    assert await recalled(memory, channel="what-if", categories=["preference"]) == set()


async def test_a_branch_of_a_branch_reads_each_channel_as_of_its_fork(memory: AsyncMemory) -> None:
    await memory.retain("Alice lives in Paris.")
    await memory.channels.fork("one")
    await memory.retain("Alice works for Acme.")
    await memory.retain("Alice keeps a cat.", channel="one")
    await memory.channels.fork("two", parent="one")
    await memory.retain("Alice keeps a parrot.", channel="one")
    await memory.retain("Alice plays chess.", channel="two")
    assert await listed(memory, "two") == {
        "Alice lives in Paris.",
        "Alice keeps a cat.",
        "Alice plays chess.",
    }
    assert await recalled(memory, "Alice", channel="two") == await listed(memory, "two")
    assert await recalled(memory, "Alice", channel="one") == {
        "Alice lives in Paris.",
        "Alice keeps a cat.",
        "Alice keeps a parrot.",
    }


async def test_the_global_channel_is_read_as_of_the_fork_of_a_project(memory: AsyncMemory) -> None:
    await memory.retain(PARIS)
    await memory.retain("The project uses Python.", channel="project")
    await memory.channels.fork("what-if", parent="project")
    await memory.retain(CATS)
    assert await recalled(memory, channel="what-if") == {PARIS, "The project uses Python."}
    assert await listed(memory, "what-if") == {"The project uses Python."}


async def test_as_of_goes_further_back_than_the_fork(memory: AsyncMemory) -> None:
    await memory.retain(PARIS)
    (first,) = await memory.memories.list()
    await memory.retain(CATS)
    await memory.channels.fork("what-if")
    stored = await memory.retain(BERLIN, channel="what-if")
    berlin = await memory.memories.get(stored.memory_ids[0])
    assert await recalled(memory, channel="what-if", as_of=first.recorded_at) == {PARIS}
    assert await recalled(memory, channel="what-if", as_of=berlin.recorded_at) == {PARIS, CATS, BERLIN}


async def test_the_same_text_can_be_stored_on_both_sides(memory: AsyncMemory) -> None:
    await memory.channels.fork("what-if")
    inside = await memory.retain([BERLIN, {"content": CATS, "external_id": "cats"}], channel="what-if")
    outside = await memory.retain([BERLIN, {"content": CATS, "external_id": "cats"}])
    assert (inside.stored_count, outside.stored_count) == (2, 2)
    again = await memory.retain([BERLIN, {"content": CATS, "external_id": "cats"}], channel="what-if")
    assert set(again.memory_ids) == set(inside.memory_ids)
    assert again.duplicate_count == 2
    assert await listed(memory, None) == await listed(memory, "what-if") == {BERLIN, CATS}


async def test_a_conversation_lies_on_one_side_of_a_fork(memory: AsyncMemory) -> None:
    await memory.retain(PARIS, conversation="planning")
    await memory.channels.fork("what-if")
    with pytest.raises(InvalidInputError, match="other side of a fork"):
        await memory.retain(BERLIN, conversation="planning", channel="what-if")
    await memory.retain(BERLIN, conversation="branch planning", channel="what-if")
    with pytest.raises(InvalidInputError, match="other side of a fork"):
        await memory.retain(PARIS, conversation="branch planning")
    assert (await memory.conversations.get("planning")).turn_count == 1


async def test_a_recall_reads_one_branch(memory: AsyncMemory) -> None:
    for name in ("one", "two"):
        await memory.channels.fork(name)
    with pytest.raises(InvalidInputError, match="one branch"):
        await memory.recall("Alice", channels=["one", "two"])


async def test_a_fork_needs_a_new_name_and_a_parent(memory: AsyncMemory) -> None:
    await memory.retain(PARIS, channel="project")
    await memory.channels.fork("what-if")
    for name in ("what-if", "project"):
        with pytest.raises(ConflictError, match="in use"):
            await memory.channels.fork(name)
    with pytest.raises(NotFoundError, match="nothing was stored"):
        await memory.channels.fork("other", parent="nowhere")
    for wrong in ("_global", "", "a\0b"):
        with pytest.raises(InvalidInputError):
            await memory.channels.fork(wrong)
    with pytest.raises(InvalidInputError):
        await memory.channels.fork("itself", parent="itself")


async def test_the_depth_and_the_number_of_branches_are_limited(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = "_global"
    for depth in range(DEPTH_MAX):
        parent = (await memory.channels.fork(f"depth {depth}", parent=parent)).channel
    with pytest.raises(ConflictError, match="limit"):
        await memory.channels.fork("too deep", parent=parent)
    assert BRANCHES_MAX > DEPTH_MAX
    monkeypatch.setattr("mnemic.record.branches.BRANCHES_MAX", DEPTH_MAX)
    with pytest.raises(ConflictError, match="branches, which is the limit"):
        await memory.channels.fork("one too many")


async def test_of_parallel_forks_of_one_name_one_succeeds(memory: AsyncMemory) -> None:
    results = await asyncio.gather(
        *(memory.channels.fork("what-if") for _ in range(8)), return_exceptions=True
    )
    assert sum(not isinstance(result, BaseException) for result in results) == 1
    assert all(isinstance(result, ConflictError) for result in results if isinstance(result, BaseException))


async def test_channels_are_listed_with_their_branches(memory: AsyncMemory) -> None:
    await memory.retain([PARIS, CATS])
    await memory.retain("The project uses Python.", channel="project")
    await memory.channels.fork("what-if")
    await memory.retain(BERLIN, channel="what-if")
    await memory.retain(PARIS, owner="bob", channel="bobs")
    channels = await memory.channels.list()
    assert [(each.channel, each.memory_count, each.parent, each.state) for each in channels] == [
        ("_global", 2, None, None),
        ("project", 1, None, None),
        ("what-if", 1, "_global", "open"),
    ]
    assert [each.channel for each in await memory.channels.list(limit=1, after="_global")] == ["project"]


async def test_only_recall_in_a_branch_takes_one_more_statement(
    memory: AsyncMemory, no_comparisons: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    read, transaction = TenantDatabase.read, TenantDatabase.transaction

    def counted_read(database: TenantDatabase, name: str, *arguments: Any, **named: Any) -> Any:
        asked.append(name)
        return read(database, name, *arguments, **named)

    def counted_transaction(database: TenantDatabase, **named: Any) -> Any:
        asked.append("transaction")
        return transaction(database, **named)

    async def statements(**options: Any) -> list[str]:
        asked.clear()
        await memory.recall("Where does Alice live?", refuse_below=0, record=False, **options)
        return list(asked)

    await memory.retain([PARIS, CATS])
    monkeypatch.setattr(TenantDatabase, "read", counted_read)
    monkeypatch.setattr(TenantDatabase, "transaction", counted_transaction)
    before = await statements()
    assert before == await statements(channel="project")
    await memory.channels.fork("what-if")
    assert await statements() == await statements(channel="project") == before
    assert await statements(channel="what-if") == [*before, "recall.words_by_rarity"]
