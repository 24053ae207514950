"""Dropping a branch leaves no trace in any table; erasing, exporting and importing know branches."""

import asyncio
from pathlib import Path

import pytest

from mnemic.errors import ConflictError, InvalidInputError, MnemicError, NotFoundError
from mnemic.sdk.memory import AsyncMemory
from tests.branches.test_changing import id_of
from tests.branches.test_reading import BERLIN, CATS, PARIS, listed, recalled
from tests.fresh_tenants import OpenMemory, Rows

SECRET = "Zebulon plans to sell the house in Oslo."
BRANCH = "what-if-zanzibar"

_TABLES = """
    SELECT pg_class.oid::regclass::text
    FROM pg_class
    JOIN pg_namespace ON pg_namespace.oid = relnamespace
    JOIN pg_attribute ON attrelid = pg_class.oid AND attname = 'tenant_id'
    WHERE nspname IN ('mnemic', 'state', 'vectors', 'traces', 'queue')
      AND relkind IN ('r', 'p') AND NOT relispartition
    ORDER BY 1
"""


def tables_with(rows: Rows, memory: AsyncMemory, *needles: str) -> dict[str, int]:
    """How many rows of the tenant contain one of the texts, by table."""
    pattern = "(" + "|".join(needles) + ")"
    counts = {}
    for (name,) in rows.select(_TABLES):
        statement = f"SELECT count(*) FROM {name} AS held WHERE tenant_id = %s AND held::text ~* %s"
        counts[str(name)] = int(str(rows.value(statement, memory.tenant.id, pattern)))
    return {name: count for name, count in counts.items() if count}


async def fill(memory: AsyncMemory) -> list[str]:
    """A branch with rows in as many tables as possible; returns the ids of its memories."""
    await memory.retain([PARIS, CATS])
    await memory.channels.fork(BRANCH)
    branch = memory.scope(channel=BRANCH)
    turn = (await branch.retain(SECRET, conversation="zebulon talks", role="user")).memory_ids[0]
    fact = (await branch.retain("Zebulon lives in Oslo.", tags=["zebulon"], evidence=turn)).memory_ids[0]
    await branch.conversations.record_tool("zebulon talks", "search", arguments={"for": "Zebulon"})
    changed = await branch.memories.update(fact, content="Zebulon lives in Bergen.")
    await branch.memories.forget(await id_of(memory, CATS))
    successor = await branch.memories.supersede(await id_of(memory, PARIS), "Zebulon lives with Alice.")
    await branch.recall("Zebulon", refuse_below=0)
    await branch.journal.append(evaluated="Zebulon")
    await memory.triples.add("Zebulon", "lives in", "Oslo", evidence=fact)
    await memory.memories.near_duplicates()
    return [str(turn), str(changed.memory_id), str(successor.memory_id)]


async def test_dropping_leaves_no_trace(memory: AsyncMemory, rows: Rows) -> None:
    ids = await fill(memory)
    needles = ("zebul", "zanzibar", *ids)
    before = tables_with(rows, memory, *needles)
    assert {"state.memories", "state.memory_versions", "state.conversations", "state.triples"} <= set(before)
    receipt = await memory.channels.drop(BRANCH)
    assert tables_with(rows, memory, *needles) == {}
    assert receipt.rows["state.memories"] == 3
    assert receipt.rows["state.branch_tombstones"] == 2
    assert any(name.startswith("vectors.") for name in receipt.rows)
    assert receipt.row_count == sum(receipt.rows.values())
    assert await listed(memory, None) == await recalled(memory) == {PARIS, CATS}
    (outcome, intent) = await memory.audit.list(action="drop_branch")
    assert (intent.target, outcome.phase) == (str(receipt.receipt_id), "succeeded")
    assert outcome.detail["rows"] == dict(receipt.rows)
    with pytest.raises(NotFoundError):
        await memory.channels.drop(BRANCH)
    await memory.channels.fork(BRANCH)
    assert await listed(memory, BRANCH) == {PARIS, CATS}


async def test_only_a_branch_of_the_owner_can_be_dropped(memory: AsyncMemory) -> None:
    await memory.retain(PARIS, channel="project")
    await memory.channels.fork("what-if")
    for channel, owner in (
        ("project", "alice"),
        ("_global", "alice"),
        ("what-if", "bob"),
        ("nothing", "alice"),
    ):
        with pytest.raises(NotFoundError):
            await memory.channels.drop(channel, owner=owner)
    assert await listed(memory, None) == {PARIS}


async def test_writers_and_a_drop_at_once_leave_nothing_half_written(memory: AsyncMemory, rows: Rows) -> None:
    await memory.channels.fork("what-if")

    async def write(number: int) -> None:
        await memory.retain(f"Zebulon has {number} houses.", channel="what-if")

    results = await asyncio.gather(
        *(write(number) for number in range(10)),
        memory.channels.drop("what-if"),
        *(write(number) for number in range(10, 20)),
        return_exceptions=True,
    )
    unexpected = [
        each
        for each in results
        if isinstance(each, BaseException) and not isinstance(each, InvalidInputError | ConflictError)
    ]
    assert unexpected == []
    # What came after the drop went into an ordinary channel of that name.
    stored = rows.select(
        "SELECT count(*), count(branch) FROM state.memories WHERE tenant_id = %s", memory.tenant.id
    )
    assert stored[0][1] == 0


async def test_writers_and_a_merge_at_once_lose_nothing(memory: AsyncMemory) -> None:
    await memory.channels.fork("what-if")

    async def write(number: int) -> str | None:
        text = f"The number {number} was drawn in the lottery."
        try:
            await memory.retain(text, channel="what-if")
        except MnemicError:
            return None
        return text

    written = await asyncio.gather(*(write(number) for number in range(20)), memory.channels.merge("what-if"))
    texts = {each for each in written if isinstance(each, str)}
    assert await listed(memory, None) == texts


async def test_erasing_an_owner_erases_its_branches(memory: AsyncMemory, rows: Rows) -> None:
    ids = await fill(memory)
    receipt = await memory.admin.erase("alice")
    assert receipt.rows["state.channel_branches"] == 1
    assert receipt.rows["state.branch_tombstones"] == 2
    assert tables_with(rows, memory, "zebul", "zanzibar", *ids) == {}


async def test_branches_are_exported_and_imported(
    memory: AsyncMemory, open_memory: OpenMemory, tmp_path: Path
) -> None:
    await fill(memory)
    await memory.channels.fork("below", parent=BRANCH)
    await memory.retain(BERLIN, channel="below")
    await memory.admin.export(tmp_path / "alice")
    copy = await open_memory()
    await copy.admin.import_(tmp_path / "alice")
    for channel in (None, BRANCH, "below"):
        assert await listed(copy, channel) == await listed(memory, channel)
        assert await recalled(copy, channel=channel) == await recalled(memory, channel=channel)
    copied = {
        each.channel: (each.parent, each.state, each.memory_count) for each in await copy.channels.list()
    }
    assert copied[BRANCH] == ("_global", "open", 3)
    again = await copy.admin.import_(tmp_path / "alice")
    assert again.row_count == 0
    await copy.channels.merge("below")
    merged = await copy.channels.merge(BRANCH)
    assert {change.kind for change in merged.changes} == {"move", "forget", "supersede"}
    await memory.channels.merge("below")
    await memory.channels.merge(BRANCH)
    await memory.admin.export(tmp_path / "merged")
    other = await open_memory()
    await other.admin.import_(tmp_path / "merged")
    assert await listed(other, None) == await listed(memory, None) == await listed(copy, None)


async def test_events_tell_of_forks_and_merges(memory: AsyncMemory) -> None:
    await memory.channels.fork("what-if")
    await memory.retain(PARIS, channel="what-if")
    await memory.channels.merge("what-if")
    events = [each for each in await memory.events.list() if each.type.startswith("channel.")]
    assert [(each.type, each.subject, each.data["parent"]) for each in events] == [
        ("channel.forked", "what-if", "_global"),
        ("channel.merged", "what-if", "_global"),
    ]
