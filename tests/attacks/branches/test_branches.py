"""Attacks on branches: reading those of others, leaking through grants, forging, and destroying by a drop."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mnemic.db.database import TenantDatabase
from mnemic.errors import ConflictError, DatabaseError, InvalidInputError, MnemicError, NotFoundError
from mnemic.sdk.memory import AsyncMemory
from tests.accepted_grants import accepted_grant
from tests.fresh_tenants import OpenMemory

KNOWN = "Bob keeps the garden key under the blue pot."
SECRET = "Bob secretly moves the garden key to Zebulon."
PRIVATE = "Bob hides the spare garden key in the zinc bucket."
QUERY = "Where does Bob keep the garden key?"

GRANTS: Mapping[str, Mapping[str, Any]] = {
    "everything": {},
    "its channel": {"channel": "what-if"},
    "the parent": {"channel": "_global"},
    "a tag": {"tags": ["garden"]},
    "its conversation": {"conversation": "branch talks"},
}
READINGS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "in the channel": {"channel": "what-if"},
    "all channels": {"channels": ["what-if", "_global", "below"]},
    "in the past": {"channels": ["what-if", "_global"], "as_of": "now"},
    "by tag": {"channels": ["what-if", "_global"], "tags": ["garden"]},
    "overview": {"channels": ["what-if"], "statuses": ["active", "superseded", "archived"]},
}


async def texts(memory: AsyncMemory, owner: str, options: Mapping[str, Any]) -> str:
    """Everything that a reader learns: the hits, the text and the notes."""
    found = await memory.recall(QUERY, owner=owner, refuse_below=0, limit=50, explain=True, **options)
    return repr((found.hits, found.text, found.notes))


async def test_no_grant_opens_a_branch(memory: AsyncMemory, subtests: pytest.Subtests) -> None:
    await memory.retain(KNOWN, owner="bob", tags=["garden"])
    await memory.channels.fork("what-if", owner="bob")
    branch = memory.scope(owner="bob", channel="what-if")
    await branch.retain(SECRET, tags=["garden"], conversation="branch talks")
    own = (await branch.retain("Bob gave Zebulon the key.", tags=["garden"])).memory_ids[0]
    await branch.memories.update(own, content="Bob sold Zebulon the key.")
    later = (await branch.memories.get(own)).recorded_at
    for grant_name, grant in GRANTS.items():
        given = await accepted_grant(memory.scope(owner="bob"), "alice", **grant)
        for reading_name, reading in READINGS.items():
            options = {**reading, **({"as_of": later} if "as_of" in reading else {})}
            with subtests.test(grant=grant_name, reading=reading_name):
                assert "Zebulon" not in await texts(memory, "alice", options)
        with subtests.test(grant=grant_name, reading="profile"):
            assert "Zebulon" not in (await memory.profile("Bob", owner="alice", channels=["what-if"])).text
        await memory.shares.revoke(given.grant_id, owner="bob")


async def test_answers_through_a_grant_do_not_depend_on_branches(memory: AsyncMemory) -> None:
    await memory.retain([KNOWN, "Bob likes tea."], owner="bob", tags=["garden"])
    await accepted_grant(memory.scope(owner="bob"), "alice")

    async def answer() -> tuple[object, ...]:
        found = await memory.recall(QUERY, owner="alice", refuse_below=0)
        return ([(hit.memory.content, round(hit.score, 6)) for hit in found], round(found.confidence, 6))

    before = await answer()
    await memory.channels.fork("what-if", owner="bob")
    await memory.retain([SECRET, "key key key", "garden"], owner="bob", channel="what-if")
    assert await answer() == before


async def test_a_branch_of_the_reader_reads_no_ungranted_rows(memory: AsyncMemory) -> None:
    await memory.retain(KNOWN, owner="bob", channel="shared")
    await memory.retain(PRIVATE, owner="bob", channel="_global")
    await accepted_grant(memory.scope(owner="bob"), "alice", channel="shared")
    await memory.retain("Alice has no garden.", owner="alice")
    await memory.channels.fork("what-if", owner="alice", parent="_global")
    for options in ({"channel": "what-if"}, {"channels": ["what-if", "shared", "_global"]}):
        assert "zinc" not in await texts(memory, "alice", options)


async def test_other_owners_can_neither_read_nor_change_a_branch(memory: AsyncMemory) -> None:
    kept = (await memory.retain(KNOWN, owner="bob")).memory_ids[0]
    await memory.channels.fork("what-if", owner="bob")
    own = (await memory.retain(SECRET, owner="bob", channel="what-if")).memory_ids[0]
    assert "Zebulon" not in await texts(memory, "alice", {"channel": "what-if"})
    assert await memory.memories.list(channel="what-if", owner="alice") == []
    assert await memory.channels.list(owner="alice") == []
    alice = memory.scope(owner="alice", channel="what-if")
    attacks = (
        memory.channels.merge("what-if", owner="alice"),
        memory.channels.drop("what-if", owner="alice"),
        alice.memories.forget(own),
        alice.memories.forget(kept),
        alice.memories.supersede(kept, "Bob lost the key."),
    )
    for attack in attacks:
        with pytest.raises(NotFoundError):
            await attack
    await memory.channels.fork("what-if", owner="alice")
    for memory_id in (own, kept):
        with pytest.raises(NotFoundError):
            await alice.memories.forget(memory_id)
    await memory.channels.drop("what-if", owner="alice")
    assert len(await memory.memories.list(channel="what-if", owner="bob")) == 2


async def test_other_tenants_cannot_reach_a_branch(memory: AsyncMemory, open_memory: OpenMemory) -> None:
    await memory.channels.fork("what-if")
    await memory.retain(SECRET, channel="what-if")
    other = await open_memory()
    assert await other.channels.list() == []
    with pytest.raises(NotFoundError):
        await other.channels.drop("what-if")
    await other.channels.fork("what-if")
    await other.channels.drop("what-if")
    assert len(await memory.memories.list(channel="what-if")) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM mnemic.drop_branch('alice', 'what-if')",
        "DELETE FROM state.channel_branches",
        "UPDATE state.channel_branches SET parent = 'elsewhere'",
        "UPDATE state.memories SET branch = NULL",
        "DELETE FROM state.branch_tombstones",
    ],
)
async def test_injected_sql_cannot_drop_or_open_a_branch(
    memory: AsyncMemory, tenant_database: TenantDatabase, statement: str
) -> None:
    await memory.channels.fork("what-if")
    await memory.retain(SECRET, channel="what-if")
    with pytest.raises(DatabaseError):
        async with tenant_database.transaction() as transaction:
            await transaction.connection.execute(statement.encode())
    assert len(await memory.memories.list(channel="what-if")) == 1


async def test_a_drop_cannot_be_widened_by_conversations_or_names(memory: AsyncMemory) -> None:
    """Deleting a conversation deletes its turns: those of the parent must not hang on one of the branch."""
    await memory.retain(KNOWN, conversation="talks")
    await memory.channels.fork("what-if")
    await memory.retain(SECRET, conversation="branch talks", channel="what-if")
    await memory.channels.merge("what-if")
    await memory.retain("We go on.", conversation="branch talks")
    await memory.channels.drop("what-if")
    assert len(await memory.conversations.turns("branch talks")) == 2
    assert len(await memory.conversations.turns("talks")) == 1
    for name in ("%", "what-i_", "' OR true --", "_global"):
        with pytest.raises(MnemicError):
            await memory.channels.drop(name)
    assert len(await memory.memories.list()) == 3


async def test_an_import_cannot_forge_a_circle_or_reach_another_owner(
    memory: AsyncMemory, open_memory: OpenMemory, tmp_path: Path
) -> None:
    theirs = (await memory.retain(KNOWN, owner="bob")).memory_ids[0]
    await memory.retain("Alice likes tea.")
    await memory.channels.fork("one")
    await memory.channels.fork("two", parent="one")
    await memory.memories.forget((await memory.memories.list())[0].memory_id, channel="two")
    await memory.admin.export(tmp_path / "file")
    lines = [json.loads(line) for line in (tmp_path / "file").read_text().splitlines()]
    for line in lines:
        if line.get("table") == "state.channel_branches" and line["row"]["channel"] == "one":
            line["row"]["parent"] = "two"
    (tmp_path / "circle").write_text("".join(json.dumps(line) + "\n" for line in lines))
    copy = await open_memory()
    await copy.admin.import_(tmp_path / "circle")
    await copy.retain("Alice likes coffee.", channel="two")
    assert len(await copy.recall("Alice", channel="two", refuse_below=0)) <= 2
    with pytest.raises(ConflictError):
        await copy.channels.fork("three", parent="two")
    for line in lines:
        if line.get("table") == "state.branch_tombstones":
            line["row"]["memory_id"] = str(theirs)
    (tmp_path / "foreign").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InvalidInputError):
        await memory.admin.import_(tmp_path / "foreign")


async def test_many_tombstones_and_branches_stay_bounded(memory: AsyncMemory) -> None:
    """Names and reasons are bounded, and a branch costs nothing outside of it."""
    for wrong in ("x" * 257, "a\nb", "", " "):
        with pytest.raises(InvalidInputError):
            await memory.channels.fork(wrong)
    with pytest.raises(InvalidInputError):
        await memory.channels.fork("what-if", reason="x" * 2_000)
    with pytest.raises(InvalidInputError):
        await memory.channels.merge("what-if", choices=["x"])  # type: ignore[arg-type]
    assert await memory.channels.list() == []
