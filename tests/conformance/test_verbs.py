"""Retaining and recalling are the same on every transport."""

import inspect
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from mnemic import AsyncMemory, Memory
from mnemic.cli.recall import recall as recall_command
from mnemic.errors import InvalidInputError
from mnemic.sdk.http.surface import ROUTES
from mnemic.sdk.http.wire import find_call
from mnemic.types.recalled import Explanation, Hit, Recalled
from mnemic.types.retained import Retained

BERLIN = "Alice moved to Berlin in March."
TEA = "Bob drinks green tea every morning."


FILTERS = {
    *("categories", "tags", "channels", "conversation", "since", "until", "as_of", "min_confidence"),
    *("statuses", "metadata", "role", "name", "document", "source", "min_score"),
}
"""Every argument of recall that leaves memories out."""
NO_FILTERS = {
    *("query", "owner", "channel", "limit", "max_tokens", "at", "refuse_below", "strict", "techniques"),
    *("explain", "record", "include", "current_conversation"),
}
CLI_NAMES = {
    "categories": "category",
    "tags": "tag",
    "statuses": "status",
    "techniques": "technique",
    "record": "no_record",
}


def contents(found: Recalled) -> list[str]:
    return [hit.memory.content for hit in found]


async def test_what_is_retained_is_recalled(memory: Any, owner: str) -> None:
    retained = await memory.retain([BERLIN, {"content": TEA, "tags": ["Drinks"], "metadata": {"cups": 2.5}}])
    assert isinstance(retained, Retained)
    assert retained.stored_count == 2
    found = await memory.recall("green tea", limit=1)
    assert isinstance(found, Recalled)
    (hit,) = found
    assert (hit.memory.content, hit.memory.tags, hit.memory.owner) == (TEA, ("drinks",), owner)
    assert hit.memory.metadata == {"cups": 2.5}
    assert hit.memory.memory_id == retained.memory_ids[1]
    assert TEA in found.text
    assert found.timings["total"] > 0


async def test_explanations_neighbours_and_entities_are_returned(memory: Any) -> None:
    await memory.entities.upsert("person", "Alice")
    turns = [{"role": "user", "content": text} for text in ("Hello there.", BERLIN, "And she likes it.")]
    await memory.retain(turns, conversation="c-42")
    found = await memory.recall("Alice Berlin", limit=1, explain=True, include=["neighbours", "entities"])
    (hit,) = found.hits
    assert isinstance(hit, Hit)
    assert isinstance(hit.explain, Explanation)
    assert "text" in hit.explain.found_by
    assert hit.explain.conversation == "c-42"
    assert [turn.content for turn in hit.neighbours] == ["Hello there.", "And she likes it."]
    assert hit.entities == ("Alice",)


async def test_recall_refuses_when_nothing_is_close(memory: Any) -> None:
    await memory.retain(BERLIN)
    found = await memory.recall("the melting point of tungsten")
    assert found.refused
    assert found.reason
    assert not found
    forced = await memory.recall("the melting point of tungsten", refuse_below=0, techniques=["vector"])
    assert contents(forced) == [BERLIN]


async def test_recall_says_what_its_confidence_was_compared_with(memory: Any) -> None:
    await memory.retain([BERLIN, TEA])
    plain = await memory.recall("Who drinks tea?")
    assert (plain.threshold, plain.confidence_parts) == (0.25, None)
    found = await memory.recall("Who drinks tea?", explain=True, refuse_below=0.125)
    assert found.threshold == 0.125
    total = sum(found.confidence_parts.values())
    assert 1 / (1 + math.exp(-total)) == pytest.approx(found.confidence)
    refused = await memory.recall("the melting point of tungsten", explain=True, strict=True)
    assert (refused.refused, refused.threshold) == (True, 0.5)
    assert refused.confidence_parts


async def test_bare_dates_are_midnight_utc(memory: Any) -> None:
    dates = {
        "at": "2026-03-01",
        "valid_from": "2026-02-01",
        "valid_to": "2027-01-01",
        "expires_at": "2999-01-01",
    }
    (memory_id,) = (await memory.retain(BERLIN, **dates)).memory_ids
    record = await memory.memories.get(memory_id)
    assert record.at == datetime(2026, 3, 1, tzinfo=UTC)
    assert record.valid_from == datetime(2026, 2, 1, tzinfo=UTC)
    assert contents(await memory.recall("Alice Berlin", since="2026-03-01", until="2026-03-02")) == [BERLIN]
    assert not await memory.recall("Alice Berlin", until="2026-03-01")
    assert not await memory.recall("Alice Berlin", as_of="2026-03-01", at="2026-03-01")
    assert len(await memory.memories.list(since="2026-03-01", until="2026-03-02")) == 1
    assert await memory.memories.list(until="2026-03-01") == []
    assert await memory.memories.as_of(memory_id, "2026-03-01") is None
    job = await memory.jobs.enqueue("later", run_at="2999-01-01")
    assert job.run_at == datetime(2999, 1, 1, tzinfo=UTC)


async def test_filters_restrict_hits(memory: Any) -> None:
    await memory.retain("Tea one", tags=["a"], category="preference", at="2026-01-01T00:00:00Z")
    await memory.retain("Tea two", conversation="c", role="user", at=datetime(2026, 2, 1, tzinfo=UTC))
    await memory.retain("Tea three", channel="work", confidence=0.4)
    await memory.retain("Tea four", name="Ada", source="inferred", metadata={"a": {"b": [1, "x"]}, "c": None})
    await memory.documents.put("guide", "Tea five")
    asked: dict[str, dict[str, Any]] = {
        "tags": {"tags": ["a"]},
        "category": {"categories": ["preference"]},
        "conversation": {"conversation": "c"},
        "until": {"until": "2026-01-15T00:00:00Z"},
        "since": {"since": datetime(2026, 1, 15, tzinfo=UTC), "until": "2026-03-01T00:00:00+01:00"},
        "channel": {"channel": "work", "channels": ["work"]},
        "sure": {"channels": ["work"], "min_confidence": 0.5},
        "statuses": {"statuses": ["superseded"]},
        "metadata": {"metadata": {"a": {"b": ["x"]}, "c": None}},
        "role": {"role": "user"},
        "name": {"name": "Ada"},
        "document": {"document": "guide"},
        "source": {"source": "inferred"},
        "as_of": {"as_of": "2020-01-01"},
        "min_score": {"min_score": 1},
    }
    found = {
        name: contents(await memory.recall("tea", refuse_below=0, **given)) for name, given in asked.items()
    }
    assert found == {
        "tags": ["Tea one"],
        "category": ["Tea one"],
        "conversation": ["Tea two"],
        "until": ["Tea one"],
        "since": ["Tea two"],
        "channel": ["Tea three"],
        "sure": [],
        "statuses": [],
        "metadata": ["Tea four"],
        "role": ["Tea two"],
        "name": ["Tea four"],
        "document": ["Tea five"],
        "source": ["Tea four"],
        "as_of": [],
        "min_score": [],
    }
    every = {name for given in asked.values() for name in given}
    assert every == FILTERS | {"channel"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"metadata": {"a": float("nan")}}, "^metadata must be JSON"),
        ({"metadata": {"a": "x" * 5_000}}, "^metadata is .* bytes as JSON; the limit is 4,096"),
        ({"metadata": {"document": "b"}, "document": "a"}, "^metadata names another document"),
        ({"source": "rumour"}, "^source must be one of extracted, user_provided, imported, inferred"),
        ({"role": ""}, "^role must have 1 to 256 characters"),
        ({"min_score": 2}, "^min_score must be a number from 0 to 1"),
    ],
    ids=["not JSON", "too large", "two documents", "source", "role", "score"],
)
async def test_an_invalid_filter_is_named(memory: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        await memory.recall("tea", **given)


async def test_weak_hits_are_marked_and_strict_refuses_them(memory: Any) -> None:
    await memory.retain(BERLIN)
    query = "the melting point of tungsten"
    weak = await memory.recall(query, refuse_below=0)
    assert (weak.outcome, weak.refused, contents(weak)) == ("weak", False, [BERLIN])
    assert weak.text.startswith("These memories may not answer the question (confidence 0.")
    assert (await memory.recall(query, strict=True)).outcome == "refused"
    found = await memory.recall("Alice moved to Berlin", strict=True)
    assert (found.outcome, found.text[0]) == ("found", "[")


def test_every_filter_is_an_argument_of_the_library_of_http_and_of_the_command() -> None:
    for kind in (AsyncMemory, Memory):
        assert set(inspect.signature(kind.recall).parameters) - {"self"} == FILTERS | NO_FILTERS
    body = find_call(ROUTES["recall"], AsyncMemory).body_model
    assert body is not None
    assert set(body.model_fields) == FILTERS | NO_FILTERS
    options = set(inspect.signature(recall_command).parameters)
    assert {CLI_NAMES.get(name, name) for name in FILTERS | NO_FILTERS} <= options


async def test_retain_many_takes_a_generator_and_reports_progress(memory: Any) -> None:
    def items() -> Iterator[Any]:
        for number in range(300):
            yield {"content": f"Fact {number} " + "x" * 400, "at": datetime(2026, 1, 1, tzinfo=UTC)}

    reported: list[int] = []
    retained = await memory.retain_many(items(), progress=reported.append)
    assert retained.stored_count == 300
    assert reported == sorted(reported)
    assert reported[-1] > 0
    assert len(await memory.memories.list(limit=1000)) == 300


async def test_a_call_stores_all_or_nothing(memory: Any) -> None:
    with pytest.raises(
        InvalidInputError, match=r"^Item 2: content must not be empty\. Nothing was stored\.$"
    ):
        await memory.retain_many(["one", "two", " "])
    with pytest.raises(InvalidInputError, match=r"^Item 1: unknown field 'colour'"):
        await memory.retain(["one", {"content": "two", "colour": "red"}])
    assert await memory.memories.list() == []


async def test_an_error_in_the_callers_generator_stores_nothing(memory: Any) -> None:
    def items() -> Iterator[str]:
        yield "one"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await memory.retain_many(items())
    assert await memory.memories.list() == []


async def test_a_duplicate_is_reported(memory: Any) -> None:
    (first,) = (await memory.retain(BERLIN)).memory_ids
    again = await memory.retain(BERLIN)
    assert isinstance(first, UUID)
    assert [item.duplicate_of for item in again.duplicates] == [first]
