"""Single memories, conversations and documents are the same on every transport."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.types.conversation import Conversation, ToolInvocation
from mnemic.types.document import ReferenceDocument
from mnemic.types.feedback import Feedback
from mnemic.types.memory import MemoryRecord, MemoryRelationship
from mnemic.types.memory_list import FacetValue, MemoryCount, MemoryFacets


async def test_a_memory_is_changed_and_every_version_is_kept(memory: Any) -> None:
    (memory_id,) = (await memory.retain("Alice lives in Rome.")).memory_ids
    changed = await memory.memories.update(memory_id, content="Alice lives in Berlin.", confidence=0.5)
    assert isinstance(changed, MemoryRecord)
    assert (changed.version, changed.confidence) == (2, 0.5)
    assert await memory.memories.get(str(memory_id)) == changed
    assert await memory.memories.whole(memory_id) == "Alice lives in Berlin."
    history = await memory.memories.history(memory_id)
    assert [version.content for version in history] == ["Alice lives in Rome.", "Alice lives in Berlin."]
    assert await memory.memories.as_of(memory_id, history[0].recorded_at) == history[0]
    assert await memory.memories.as_of(memory_id, datetime.now(UTC) - timedelta(days=1)) is None
    reverted = await memory.memories.revert(memory_id, 1, reason="a mistake")
    assert (reverted.content, reverted.change_reason) == ("Alice lives in Rome.", "a mistake")


async def test_a_memory_is_superseded_forgotten_and_restored(memory: Any) -> None:
    (old_id,) = (await memory.retain("Alice lives in Rome.")).memory_ids
    new = await memory.memories.supersede(old_id, "Alice lives in Berlin.")
    assert [record.memory_id for record in await memory.memories.list()] == [new.memory_id]
    assert len(await memory.memories.list(statuses=None)) == 2
    assert [record.memory_id for record in await memory.memories.list(statuses=["superseded"])] == [old_id]
    assert await memory.memories.list(statuses=[]) == []
    forgotten = await memory.memories.forget(new.memory_id, reason="gone")
    assert forgotten.deleted_at is not None
    assert await memory.memories.list() == []
    assert (await memory.memories.restore(new.memory_id)).deleted_at is None
    with pytest.raises(ConflictError, match="superseded already"):
        await memory.memories.supersede(old_id, "Alice lives in Paris.")


async def test_tags_are_added_and_removed(memory: Any) -> None:
    (memory_id,) = (await memory.retain("Tea", tags=["b"])).memory_ids
    assert (await memory.memories.tag(memory_id, "A", "ü/&")).tags == ("a", "b", "ü/&")
    assert (await memory.memories.untag(memory_id, "ü/&", "b")).tags == ("a",)
    assert len(await memory.memories.list(tags=["a"])) == 1
    assert await memory.memories.list(tags=["a", "b"]) == []


async def test_pagination(memory: Any) -> None:
    ids = (await memory.retain([f"Fact {number}" for number in range(5)])).memory_ids
    first = await memory.memories.list(limit=2)
    second = await memory.memories.list(limit=3, before=first[-1].memory_id)
    assert [record.memory_id for record in [*first, *second]] == list(reversed(ids))


async def test_memories_are_filtered_counted_and_faceted(memory: Any) -> None:
    ids = (await memory.retain(["Alice plays the cello.", "Bob bakes bread."], tags=["a"])).memory_ids
    turn = {"role": "user", "name": "Cleo", "content": "I swim."}
    await memory.retain([turn], conversation="c")
    (cello,) = await memory.memories.list(q="playing cello", ids=list(ids), sources=["user_provided"])
    assert (cello.memory_id, cello.content) == (ids[0], "Alice plays the cello.")
    (swim,) = await memory.memories.list(names=["Cleo"], roles=["user"], never_recalled=True)
    assert swim.content == "I swim."
    oldest = await memory.memories.list(order="oldest", min_confidence=0.5)
    assert [record.memory_id for record in oldest[:2]] == list(ids)
    assert await memory.memories.list(as_of=datetime(2001, 1, 1, tzinfo=UTC)) == []
    assert await memory.memories.count(tags=["a"]) == MemoryCount(2, True)
    facets = await memory.memories.facets(q="bread")
    assert isinstance(facets, MemoryFacets)
    assert (facets.tags, facets.memory_count) == ((FacetValue("a", 1),), 1)
    with pytest.raises(InvalidInputError, match="order"):
        await memory.memories.list(order="random")


async def test_memories_are_related(memory: Any) -> None:
    one, other = (await memory.retain(["Tea is healthy.", "Tea has caffeine."])).memory_ids
    stated = await memory.memories.relate(one, other, "contradicts", confidence=0.25)
    assert isinstance(stated, MemoryRelationship)
    assert await memory.memories.related(other, kinds=["contradicts"]) == [stated]
    assert await memory.memories.related(other, kinds=["supports"]) == []
    with pytest.raises(NotFoundError):
        await memory.memories.relate(one, uuid4(), "supports")


async def test_near_duplicates_await_a_decision(memory: Any) -> None:
    one, other = (await memory.retain(["Tea is healthy.", "Coffee is not."])).memory_ids
    assert await memory.memories.near_duplicates() == []
    with pytest.raises(NotFoundError):
        await memory.memories.decide_near_duplicate(one, other, "distinct")


async def test_conversations(memory: Any) -> None:
    name = "a/b c?%2F"
    turns = [{"role": "user", "content": f"Turn {number}"} for number in range(3)]
    await memory.retain(turns, conversation=name)
    found = await memory.conversations.get(name)
    assert isinstance(found, Conversation)
    assert found.turn_count == 3
    assert await memory.conversations.list() == [found]
    said = [turn.content for turn in await memory.conversations.turns(name, from_position=1)]
    assert said == ["Turn 1", "Turn 2"]
    assert [turn.content for turn in await memory.conversations.recent(limit=1)] == ["Turn 2"]
    called = await memory.conversations.record_tool(
        name, "search", arguments={"q": ["ü", 1.5, None]}, result="nothing", duration_ms=12.5
    )
    assert isinstance(called, ToolInvocation)
    assert await memory.conversations.tools(name) == [called]
    with pytest.raises(NotFoundError):
        await memory.conversations.get("another")


async def test_documents(memory: Any) -> None:
    text = "Long text. " * 2000
    put = await memory.documents.put("guide", text, title="A guide", metadata={"pages": 3})
    assert isinstance(put, ReferenceDocument)
    assert await memory.documents.get("guide") == put
    assert await memory.documents.list() == [put]
    assert await memory.memories.whole(put.whole_id) == text
    assert await memory.documents.delete("guide") is True
    assert await memory.documents.delete("guide") is False


async def test_names_may_contain_any_characters(memory: Any) -> None:
    names = ["a/b", "..", ".", "100%", "a%2Fb", "a+b", "ünï", "?x=1#y", "a b", "//", "null", '["a","b"]']
    for name in names:
        await memory.documents.put(name, f"The text of {name}.")
        assert (await memory.documents.get(name)).name == name
    assert [document.name for document in await memory.documents.list(after=".")] == sorted(names)[1:]


async def test_feedback_is_given_and_listed(memory: Any) -> None:
    (memory_id,) = (await memory.retain("Alice likes tea.")).memory_ids
    useful = await memory.memories.feedback(memory_id, conversation="a", note="It answered the question.")
    assert isinstance(useful, MemoryRecord)
    assert useful.usefulness == pytest.approx(0.6)
    assert (await memory.memories.feedback(str(memory_id), cited=True, conversation="a")) == useful
    assert (await memory.memories.feedback(memory_id, useful=False)).usefulness == pytest.approx(0.5)
    newest, oldest = await memory.memories.list_feedback(memory_id=memory_id)
    assert isinstance(newest, Feedback)
    assert (newest.kind, newest.conversation) == ("not_useful", None)
    assert (oldest.kind, oldest.conversation, oldest.note) == ("cited", "a", "It answered the question.")
    with pytest.raises(InvalidInputError, match="either cited or useful=False"):
        await memory.memories.feedback(memory_id, useful=False, cited=True)
    with pytest.raises(NotFoundError, match="There is no memory"):
        await memory.memories.feedback(uuid4())
    assert await memory.memories.promotions() == []
