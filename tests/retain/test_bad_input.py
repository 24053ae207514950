"""Invalid input raises an error that names the field, and nothing is written."""

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any
from uuid import uuid4

import pytest

from mnemic.errors import InvalidInputError, NotFoundError, OwnerRequiredError
from mnemic.sdk.memory import AsyncMemory
from tests.fresh_tenants import OpenMemory, Rows

# A comparison in the background is a transaction, and changes the backlog.
pytestmark = pytest.mark.usefixtures("no_comparisons")

NAIVE = datetime(2026, 3, 1, 10, 0)


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"in": value}
    return value


def endless(value: str) -> Iterator[str]:
    while True:
        yield value


BAD_FIELDS: list[tuple[dict[Any, Any], str]] = [
    ({"content": ""}, "content must not be empty"),
    ({"content": " \n\t "}, "content must not be empty"),
    ({"content": "a\0b"}, "content must not contain NUL"),
    ({"content": "a\ud800b"}, "content is not valid Unicode at character 1"),
    ({"content": "x" * 10_000_000}, "content has 10,000,000 characters; the limit is 1,000,000"),
    ({"content": b"bytes"}, "content must be text, not bytes"),
    ({"content": None}, "content is missing"),
    ({}, "content is missing"),
    ({"content": "x", "at": NAIVE}, "at has no time zone"),
    ({"content": "x", "valid_from": "2026-03-01T10:00:00"}, "valid_from has no time zone"),
    ({"content": "x", "valid_to": "yesterday"}, "valid_to must be a date"),
    ({"content": "x", "expires_at": date(2026, 3, 1)}, "expires_at must be a datetime"),
    ({"content": "x", "at": "0001-01-01T00:00:00+10:00"}, "at must lie in the years"),
    (
        {"content": "x", "valid_from": "2026-03-01T10:00:00Z", "valid_to": "2026-03-01T10:00:00Z"},
        "valid_to must be after",
    ),
    ({"content": "x", "confidence": 1.2}, "confidence must be a number from 0 to 1, not 1.2"),
    ({"content": "x", "confidence": -0.1}, "confidence must be a number from 0 to 1"),
    ({"content": "x", "confidence": float("nan")}, "confidence must be a finite number"),
    ({"content": "x", "confidence": "0.5"}, "confidence must be a number, not str"),
    ({"content": "x", "confidence": True}, "confidence must be a number, not bool"),
    ({"content": "x", "category": "fact"}, "category must be one of factual, preference"),
    ({"content": "x", "category": ["factual"]}, "category must be one of"),
    ({"content": "x", "source": "me"}, "source must be one of extracted"),
    ({"content": "x", "provenance": "guessed"}, "provenance must be one of measured"),
    ({"content": "x", "tags": ["t" * 65]}, "has 65"),
    ({"content": "x", "tags": [""]}, "a tag must not be empty"),
    ({"content": "x", "tags": ["a\0"]}, "a tag must not contain NUL"),
    ({"content": "x", "tags": "home"}, "tags must be a list"),
    ({"content": "x", "tags": [1]}, "a tag must be text"),
    ({"content": "x", "tags": [f"tag {number}" for number in range(65)]}, "at most 64"),
    ({"content": "x", "tags": endless("same")}, "at most 64"),
    ({"content": "x", "metadata": {"a": {1, 2}}}, "metadata must be JSON"),
    ({"content": "x", "metadata": {"a": float("inf")}}, "metadata must be JSON"),
    ({"content": "x", "metadata": {"a": "\ud800"}}, "metadata must be JSON"),
    ({"content": "x", "metadata": {"a": "\0"}}, "metadata must not contain NUL"),
    ({"content": "x", "metadata": {1: "a"}}, "metadata must have text as keys"),
    ({"content": "x", "metadata": ["a"]}, "metadata must be a mapping"),
    ({"content": "x", "metadata": "a"}, "metadata must be a mapping"),
    ({"content": "x", "metadata": {"a": "x" * (1 << 20)}}, "metadata is 1,048,"),
    ({"content": "x", "metadata": nested(100_000)}, "metadata is nested more than 100 levels deep"),
    ({"content": "x", "metadata": nested(100)}, "metadata is nested more than 100 levels deep"),
    ({"content": "x", "anchored": "yes"}, "anchored must be True or False"),
    ({"content": "x", "evidence": {"a": 1}}, "evidence must be"),
    ({"content": "x", "evidence": [1]}, "evidence must be text"),
    ({"content": "x", "evidence": ["e"] * 65}, "at most 64"),
    ({"content": "x", "evidence": ["e" * 1025]}, "evidence has 1,025 characters"),
    ({"content": "x", "conversation": ""}, "conversation must have 1 to 256"),
    ({"content": "x", "conversation": "c" * 257}, "conversation must have 1 to 256"),
    ({"content": "x", "conversation": 7}, "conversation must be text"),
    ({"content": "x", "role": "r" * 65}, "role has 65 characters"),
    ({"content": "x", "name": "a\nb"}, "name must not contain control"),
    ({"content": "x", "external_id": "e" * 513}, "external_id has 513 characters"),
    ({"content": "x", "external_id": ""}, "external_id must not be empty"),
    ({"content": "x", "colour": "red"}, "unknown field 'colour'"),
    ({"content": "x", 5: "red"}, "unknown field 5"),
]


async def test_a_bad_field_is_named_and_nothing_is_written(
    memory: AsyncMemory, rows: Rows, subtests: pytest.Subtests
) -> None:
    for item, message in BAD_FIELDS:
        with subtests.test(message):
            with pytest.raises(InvalidInputError) as caught:
                await memory.retain(["good", item])
            assert str(caught.value).startswith("Item 1: ")
            assert message in str(caught.value)
            assert len(str(caught.value)) < 300
            str(caught.value).encode()
            assert rows.counts(memory.tenant.id) == {}


@pytest.mark.parametrize("value", [None, 5, 1.5, object()], ids=["None", "5", "1.5", "an object"])
async def test_values_that_are_no_items_are_refused(memory: AsyncMemory, rows: Rows, value: Any) -> None:
    with pytest.raises(InvalidInputError, match="a text or a mapping"):
        await memory.retain(["good", value])
    for retain in (memory.retain, memory.retain_many):
        with pytest.raises(InvalidInputError, match="a text, a mapping, or a list of them"):
            await retain(value)
    with pytest.raises(InvalidInputError, match="not bytes"):
        await memory.retain(b"bytes")  # type: ignore[arg-type]
    assert rows.counts(memory.tenant.id) == {}


BAD_DEFAULTS: list[tuple[dict[str, Any], str]] = [
    ({"confidence": 1.2}, "confidence"),
    ({"category": "x"}, "category"),
    ({"tags": ["t" * 65]}, "tag"),
    ({"at": NAIVE}, "time zone"),
    ({"metadata": {"a": object()}}, "metadata"),
    ({"owner": ""}, "owner"),
    ({"owner": "a\0b"}, "owner"),
    ({"owner": "\ud800"}, "owner"),
    ({"channel": "c" * 257}, "channel"),
]


async def test_a_bad_default_is_refused_even_without_items(
    memory: AsyncMemory, rows: Rows, subtests: pytest.Subtests
) -> None:
    for options, message in BAD_DEFAULTS:
        with subtests.test(message):
            items: Any
            for items in ("fine", []):
                with pytest.raises(InvalidInputError, match=message):
                    await memory.retain(items, **options)
            assert rows.counts(memory.tenant.id) == {}


@pytest.mark.parametrize("bad", [0, 900, 1499])
async def test_a_bad_item_in_a_large_batch_is_named_and_none_is_stored(
    memory: AsyncMemory, rows: Rows, bad: int
) -> None:
    items = [
        {"content": f"fact {number}", "confidence": 1.2 if number == bad else 1} for number in range(1500)
    ]
    with pytest.raises(InvalidInputError, match=rf"^Item {bad}: confidence .* Nothing was stored\.$"):
        await memory.retain_many(items)
    assert rows.counts(memory.tenant.id) == {}


async def test_an_iterator_that_raises_stores_nothing(memory: AsyncMemory, rows: Rows) -> None:
    def breaking_off() -> Iterator[str]:
        yield from (f"fact {number}" for number in range(1000))
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        await memory.retain_many(breaking_off())
    assert rows.counts(memory.tenant.id) == {}


async def test_a_call_without_an_owner_is_refused(open_memory: OpenMemory, rows: Rows) -> None:
    memory = await open_memory(owner=None)
    with pytest.raises(OwnerRequiredError):
        await memory.retain("x")
    with pytest.raises(OwnerRequiredError):
        await memory.memories.get(uuid4())
    assert rows.counts(memory.tenant.id) == {}


async def test_ids_of_others_are_not_found(memory: AsyncMemory, open_memory: OpenMemory, rows: Rows) -> None:
    other_tenant = await open_memory()
    (foreign,) = (await other_tenant.retain("Secret of another tenant.")).memory_ids
    (bobs,) = (await memory.retain("Secret of Bob.", owner="bob")).memory_ids
    (mine,) = (await memory.retain("Mine.")).memory_ids
    before = rows.counts(memory.tenant.id), rows.counts(other_tenant.tenant.id)
    memories = memory.memories
    for memory_id in (foreign, bobs, uuid4()):
        for call in (
            memories.get(memory_id),
            memories.whole(memory_id),
            memories.update(memory_id, content="mine now"),
            memories.supersede(memory_id, "mine now"),
            memories.forget(memory_id),
            memories.restore(memory_id),
            memories.history(memory_id),
            memories.revert(memory_id, 1),
            memories.tag(memory_id, "mine"),
            memories.relate(mine, memory_id, "supports"),
            memories.relate(memory_id, mine, "supports"),
            memories.decide_near_duplicate(memory_id, mine, "distinct"),
            memory.conversations.get("c"),
            memory.conversations.record_tool("c", "search", memory_id=memory_id),
        ):
            with pytest.raises(NotFoundError):
                await call
        assert await memories.related(memory_id) == []
        assert await memories.as_of(memory_id, "2100-01-01T00:00:00Z") is None
    assert (rows.counts(memory.tenant.id), rows.counts(other_tenant.tenant.id)) == before


async def test_evidence_of_another_owner_is_not_linked(memory: AsyncMemory, open_memory: OpenMemory) -> None:
    other_tenant = await open_memory()
    (foreign,) = (await other_tenant.retain("Of another tenant.")).memory_ids
    (bobs,) = (await memory.retain("Bob's.", owner="bob")).memory_ids
    (mine,) = (await memory.retain("Mine.", evidence=[foreign, bobs, uuid4()])).memory_ids
    assert await memory.memories.related(mine) == []
