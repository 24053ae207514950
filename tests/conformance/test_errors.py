"""Errors have the same class and message on every transport."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from mnemic import AsyncMemory
from mnemic.errors import ConflictError, InvalidInputError, MnemicError, NotFoundError, OwnerRequiredError
from tests.conformance.conftest import Options

UNKNOWN_ID = UUID("019a8f2e-6c00-7abc-8def-0123456789ab")

ERRORS: dict[str, tuple[Callable[[Any], Awaitable[Any]], type[MnemicError], str]] = {
    "a category": (
        lambda memory: memory.retain("x", category="colour"),
        InvalidInputError,
        "category must be one of factual, preference, behavioral, episodic, procedural, reference, "
        "prospective, not 'colour'.",
    ),
    "a share": (
        lambda memory: memory.retain("x", confidence=2),
        InvalidInputError,
        "confidence must be a number from 0 to 1, not 2.",
    ),
    "a number": (
        lambda memory: memory.metrics.record("recall", "x", float("nan")),
        InvalidInputError,
        "value must be a finite number.",
    ),
    "a moment": (
        lambda memory: memory.recall("x", since="yesterday"),
        InvalidInputError,
        "since must be a date such as 2026-03-01, or a date and time such as 2026-03-01T10:00:00Z, "
        "not 'yesterday'.",
    ),
    "a window": (
        lambda memory: memory.memories.list(since="2026-01-02T00:00:00Z", until="2026-01-01T00:00:00Z"),
        InvalidInputError,
        "until must be after since.",
    ),
    "a limit in a body": (
        lambda memory: memory.recall("x", limit=0),
        InvalidInputError,
        "limit must be a whole number from 1 to 1,000.",
    ),
    "a limit in a query": (
        lambda memory: memory.memories.list(limit=1001),
        InvalidInputError,
        "limit must be a whole number from 1 to 1,000.",
    ),
    "a choice in a query": (
        lambda memory: memory.memories.list(statuses=["lost"]),
        InvalidInputError,
        "statuses must be one of active, superseded, merged, archived, pending_review, not 'lost'.",
    ),
    "an id": (
        lambda memory: memory.memories.get("me"),
        InvalidInputError,
        "memory_id must be an id as Mnemic gives them (a UUID), not 'me'.",
    ),
    "an empty name": (
        lambda memory: memory.state.get(""),
        InvalidInputError,
        "key must have 1 to 256 characters that are not all blank.",
    ),
    "a name with control characters": (
        lambda memory: memory.state.get("a\nb"),
        InvalidInputError,
        "key must not contain control characters or broken Unicode.",
    ),
    "something that is no JSON": (
        lambda memory: memory.state.set("k", {"when": {1, 2}}),
        InvalidInputError,
        "document must be JSON: Object of type set is not JSON serializable.",
    ),
    "a text with NUL": (
        lambda memory: memory.retain("a\0b"),
        InvalidInputError,
        "Item 0: content must not contain NUL characters. Nothing was stored.",
    ),
    "a category of an entity": (
        lambda memory: memory.entities.get(("person", "Nobody")),
        NotFoundError,
        "This owner has no entity person 'Nobody'.",
    ),
    "a memory that is not there": (
        lambda memory: memory.memories.get(UNKNOWN_ID),
        NotFoundError,
        f"There is no memory {UNKNOWN_ID} of this owner.",
    ),
    "a version": (
        lambda memory: memory.state.set("k", 1, expected_version=3),
        ConflictError,
        "The document 'k' is not at version 3. Read it again and retry.",
    ),
}


async def test_errors_have_the_same_class_and_message(memory: Any) -> None:
    raised = dict[str, tuple[type, str]]()
    for case, (call, _, _) in ERRORS.items():
        with pytest.raises(MnemicError) as caught:
            await call(memory)
        raised[case] = type(caught.value), str(caught.value)
    assert raised == {case: (error, message) for case, (_, error, message) in ERRORS.items()}


async def test_a_call_without_an_owner_is_an_error(options: Options) -> None:
    async with AsyncMemory(**options) as memory:
        for call in (memory.retain("x"), memory.recall("x"), memory.memories.list(), memory.state.get("x")):
            with pytest.raises(OwnerRequiredError, match=r"^No owner: pass owner=…, use memory\.scope"):
                await call


async def test_values_that_are_not_json_are_errors(memory: Any) -> None:
    with pytest.raises(InvalidInputError):
        await memory.retain(object())
    with pytest.raises(InvalidInputError):
        await memory.retain("a lone \ud800 surrogate")
    with pytest.raises(InvalidInputError):
        await memory.state.get("a lone \ud800 surrogate")
    with pytest.raises(TypeError):
        await memory.retain("x", colour="red")
