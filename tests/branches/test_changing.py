"""Changes in a branch leave the memories of its parent untouched."""

import pytest

from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.sdk.memory import AsyncMemory
from tests.branches.test_reading import BERLIN, CATS, PARIS, listed, recalled


@pytest.fixture
async def forked(memory: AsyncMemory) -> AsyncMemory:
    await memory.retain([PARIS, CATS])
    await memory.channels.fork("what-if")
    return memory


async def id_of(memory: AsyncMemory, content: str) -> str:
    return next(
        str(each.memory_id) for each in await memory.memories.list(limit=100) if each.content == content
    )


async def test_forgetting_in_a_branch_hides_the_memory_there(forked: AsyncMemory) -> None:
    paris = await id_of(forked, PARIS)
    before = await forked.memories.get(paris)
    hidden = await forked.memories.forget(paris, channel="what-if", reason="not here")
    assert (str(hidden.memory_id), hidden.content, hidden.deleted_at is not None) == (paris, PARIS, True)
    assert await listed(forked, "what-if") == await recalled(forked, channel="what-if") == {CATS}
    assert await forked.memories.get(paris) == before
    assert await recalled(forked) == {PARIS, CATS}
    assert await forked.memories.forget(paris, channel="what-if") is not None
    await forked.memories.restore(paris, channel="what-if")
    assert await listed(forked, "what-if") == {PARIS, CATS}
    assert await forked.memories.get(paris) == before


async def test_changing_in_a_branch_stores_a_copy_there(forked: AsyncMemory) -> None:
    paris, cats = await id_of(forked, PARIS), await id_of(forked, CATS)
    versions = [await forked.memories.history(each) for each in (paris, cats)]
    in_branch = forked.scope(channel="what-if").memories
    successor = await in_branch.supersede(paris, BERLIN)
    assert (successor.channel, successor.content) == ("what-if", BERLIN)
    tagged = await in_branch.tag(cats, "pets")
    assert (tagged.channel, tagged.content, tagged.tags) == ("what-if", CATS, ("pets",))
    assert await listed(forked, "what-if") == await recalled(forked, channel="what-if") == {BERLIN, CATS}
    assert [await forked.memories.history(each) for each in (paris, cats)] == versions
    assert await listed(forked, None) == {PARIS, CATS}
    # The memories of the branch itself change as any other.
    updated = await in_branch.update(tagged.memory_id, content="Alice keeps a dog.")
    assert (updated.memory_id, updated.version) == (tagged.memory_id, 2)
    assert await listed(forked, "what-if") == {BERLIN, "Alice keeps a dog."}
    with pytest.raises(NotFoundError, match="replaced"):
        await in_branch.update(paris, content="Alice lives in Rome.")
    unchanged = await forked.memories.list(channel="what-if", tags=["none"])
    assert unchanged == []


async def test_a_branch_changes_only_what_it_reads(forked: AsyncMemory) -> None:
    later = (await forked.retain("Alice works for Acme.")).memory_ids[0]
    with pytest.raises(NotFoundError, match="reads no memory"):
        await forked.memories.forget(later, channel="what-if")
    with pytest.raises(NotFoundError):
        await forked.memories.forget(later, channel="what-if", owner="bob")
    cats = await id_of(forked, CATS)
    with pytest.raises(InvalidInputError):
        await forked.memories.update(cats, channel="what-if", content=" ")


async def test_all_chunks_of_a_long_text_are_hidden(memory: AsyncMemory) -> None:
    long = " ".join(f"Alice visited the city number {number}." for number in range(1_500))
    chunk = (await memory.retain(long)).stored[0].chunk_ids[1]
    await memory.channels.fork("what-if")
    with pytest.raises(InvalidInputError, match="longer text"):
        await memory.memories.tag(chunk, "travel", channel="what-if")
    await memory.memories.forget(chunk, channel="what-if")
    assert await listed(memory, "what-if") == set()
    await memory.memories.restore(chunk, channel="what-if")
    assert await listed(memory, "what-if") == await listed(memory, None) != set()


async def test_tombstones_are_read_as_of_the_fork_of_a_branch_below(forked: AsyncMemory) -> None:
    paris, cats = await id_of(forked, PARIS), await id_of(forked, CATS)
    await forked.memories.forget(paris, channel="what-if")
    await forked.channels.fork("below", parent="what-if")
    await forked.memories.restore(paris, channel="what-if")
    await forked.memories.forget(cats, channel="what-if")
    assert await listed(forked, "below") == await recalled(forked, channel="below") == {CATS}
    assert await listed(forked, "what-if") == {PARIS}
    with pytest.raises(ConflictError, match="above"):
        await forked.memories.restore(paris, channel="below")
