"""Reference documents: a text under a name, its replacement and its end."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.document import ReferenceDocument
from tests.fresh_tenants import Rows, contents
from tests.many_writers import WRITERS

LONG = "".join(f"Paragraph {number} of the manual.\n\n" for number in range(1000))


async def active(memory: AsyncMemory) -> list[str]:
    return sorted(contents(await memory.memories.list(limit=1000)))


async def text_of(memory: AsyncMemory, name: str) -> str:
    return await memory.memories.whole(whole_of(await memory.documents.get(name)))


def whole_of(document: ReferenceDocument) -> UUID:
    """The memory that holds the text of a document that was put."""
    assert document.whole_id is not None
    return document.whole_id


@pytest.mark.parametrize("text", ["Short.", LONG], ids=["short", "long"])
async def test_a_document_comes_back_byte_for_byte(memory: AsyncMemory, text: str) -> None:
    made = await memory.documents.put(
        "manual", text, title="The manual", tags=["Docs"], metadata={"pages": 3}
    )
    assert made == await memory.documents.get("manual")
    assert (made.owner, made.name, made.title, made.metadata, made.version, made.character_count) == (
        "alice",
        "manual",
        "The manual",
        {"pages": 3},
        1,
        len(text),
    )
    assert await text_of(memory, "manual") == text
    chunk = await memory.memories.get(whole_of(made))
    assert (chunk.category, chunk.source, chunk.tags, chunk.metadata) == (
        "reference",
        "imported",
        ("docs",),
        {"pages": 3, "document": "manual"},
    )


async def test_the_same_text_again_changes_nothing(memory: AsyncMemory, rows: Rows) -> None:
    made = await memory.documents.put("manual", LONG)
    before = rows.counts(memory.tenant.id)
    assert await memory.documents.put("manual", LONG) == made
    assert rows.counts(memory.tenant.id) == before


@pytest.mark.parametrize(
    ("old", "new"), [("Old.", "New."), (LONG, LONG + "!"), (LONG, "New."), ("Old.", LONG)]
)
async def test_another_text_takes_the_place_of_the_old_one(memory: AsyncMemory, old: str, new: str) -> None:
    first = await memory.documents.put("manual", old)
    second = await memory.documents.put("manual", new, title="Second")
    assert (second.document_id, second.version, second.title) == (first.document_id, 2, "Second")
    assert await text_of(memory, "manual") == new
    assert "".join(contents((await memory.memories.list(limit=100))[::-1])) == new
    superseded = await memory.memories.get(whole_of(first))
    assert (superseded.status, superseded.superseded_by) == ("superseded", second.whole_id)
    assert await memory.memories.whole(whole_of(first)) == old
    third = await memory.documents.put("manual", old)
    assert (third.version, await text_of(memory, "manual")) == (3, old)


async def test_deleting_a_document_forgets_all_of_its_text(memory: AsyncMemory) -> None:
    made = await memory.documents.put("manual", LONG)
    assert await memory.documents.delete("manual") is True
    assert await memory.documents.delete("manual") is False
    assert await active(memory) == []
    with pytest.raises(NotFoundError):
        await memory.documents.get("manual")
    await memory.memories.restore(whole_of(made))
    assert "".join(contents((await memory.memories.list(limit=100))[::-1])) == LONG


async def test_a_document_whose_text_was_forgotten_can_be_put_again(memory: AsyncMemory) -> None:
    made = await memory.documents.put("manual", LONG)
    await memory.memories.forget(whole_of(made))
    await memory.documents.put("manual", LONG)
    assert await text_of(memory, "manual") == LONG
    assert "".join(contents((await memory.memories.list(limit=100))[::-1])) == LONG


async def test_two_documents_may_have_one_text(memory: AsyncMemory) -> None:
    one = await memory.documents.put("one", "Same.")
    two = await memory.documents.put("two", "Same.")
    assert one.whole_id == two.whole_id
    await memory.documents.put("one", "Other.")
    assert await active(memory) == ["Other.", "Same."]
    await memory.documents.delete("two")
    assert await active(memory) == ["Other."]


async def test_a_memory_of_ones_own_outlives_a_document_with_the_same_words(memory: AsyncMemory) -> None:
    await memory.retain(["The sky is blue.", "Water is wet."])
    await memory.documents.put("sky", "The sky is blue.")
    await memory.documents.put("water", "Water is wet.")
    await memory.documents.delete("sky")
    await memory.documents.put("water", "Water is very wet.")
    assert await active(memory) == ["The sky is blue.", "Water is very wet.", "Water is wet."]


async def test_of_many_writers_of_one_document_one_text_remains(memory: AsyncMemory) -> None:
    await memory.documents.put("manual", "Before.")
    await asyncio.gather(*(memory.documents.put("manual", f"Text {number}.") for number in range(WRITERS)))
    document = await memory.documents.get("manual")
    assert document.version == WRITERS + 1
    assert await active(memory) == [await text_of(memory, "manual")]


async def test_of_many_writers_of_one_text_one_remains(memory: AsyncMemory) -> None:
    made = await asyncio.gather(*(memory.documents.put("manual", LONG) for _ in range(WRITERS)))
    assert len({document.whole_id for document in made}) == 1
    assert "".join(contents((await memory.memories.list(limit=100))[::-1])) == LONG


async def test_documents_are_listed_by_name_and_belong_to_owners(memory: AsyncMemory) -> None:
    for name in ("b", "a", "c"):
        await memory.documents.put(name, f"Text of {name}.")
    await memory.documents.put("d", "Text of d.", owner="bob")
    assert [document.name for document in await memory.documents.list()] == ["a", "b", "c"]
    assert [document.name for document in await memory.documents.list(after="a", limit=1)] == ["b"]
    with pytest.raises(NotFoundError):
        await memory.documents.get("d")


BAD_DOCUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"content": ""}, "content must not be empty"),
    ({"content": 5}, "content must be text, not int"),
    ({"content": None}, "content must be text"),
    ({"content": "a\0"}, "content must not contain NUL"),
    ({"content": "\ud800"}, "content is not valid Unicode"),
    ({"content": "x" * 10_000_000}, "content has 10,000,000"),
    ({"name": ""}, "name must have 1 to 256"),
    ({"name": "n" * 257}, "name must have 1 to 256"),
    ({"title": ""}, "title must not be empty"),
    ({"title": 5}, "title must be text"),
    ({"title": "t" * 513}, "title has 513"),
    ({"title": "\ud800"}, "title is not valid Unicode"),
    ({"metadata": {"a": object()}}, "metadata must be JSON"),
    ({"metadata": [1]}, "metadata must be a mapping"),
    ({"tags": ["t" * 65]}, "has 65"),
    ({"channel": ""}, "channel must have"),
]


async def test_a_bad_document_is_refused_and_nothing_is_written(
    memory: AsyncMemory, rows: Rows, subtests: pytest.Subtests
) -> None:
    for arguments, message in BAD_DOCUMENTS:
        with subtests.test(message):
            with pytest.raises(InvalidInputError, match=message):
                await memory.documents.put(**{"name": "manual", "content": "Text.", **arguments})
            assert rows.counts(memory.tenant.id) == {}


@pytest.mark.parametrize("after", [5, None, "\ud800", "a\0b"], ids=repr)
async def test_what_is_no_name_to_list_from_is_refused(memory: AsyncMemory, after: Any) -> None:
    with pytest.raises(InvalidInputError, match="after"):
        await memory.documents.list(after=after)
    with pytest.raises(InvalidInputError, match="after"):
        await memory.admin.owners(after=after)
