"""Attributes of processes: facts about the parts of a system, with their provenance."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import uuid4

import pytest

from mnemic.errors import InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from tests.many_writers import WRITERS
from tests.two_tenants import CountRows

Call = Callable[[Any], Coroutine[Any, Any, object]]


async def test_an_attribute_has_its_provenance(memory: AsyncMemory) -> None:
    turn = uuid4()
    written = await memory.processes.set(
        "speed", {"pages_per_s": 3}, process="crawler", provenance="measured", evidence=turn, confidence=0.5
    )
    assert written == await memory.processes.get("speed", process="crawler")
    assert (written.owner, written.process, written.set_by) == ("alice", "crawler", "sdk")
    assert (written.value, written.provenance, written.confidence) == ({"pages_per_s": 3}, "measured", 0.5)
    assert written.evidence == [str(turn)]


async def test_the_default_process_is_the_callers(memory: AsyncMemory) -> None:
    crawler = memory.scope(process="crawler")
    await crawler.processes.set("speed", 3)
    assert await memory.processes.get("speed") is None
    own, named = await crawler.processes.get("speed"), await memory.processes.get("speed", process="crawler")
    assert own == named
    assert own is not None
    assert (own.process, own.provenance, own.confidence, own.evidence) == ("crawler", "witnessed", 1.0, [])


async def test_setting_again_replaces_the_value_and_its_provenance(memory: AsyncMemory) -> None:
    first = await memory.processes.set("speed", 3, provenance="measured", evidence="run 1")
    second = await memory.scope(process="other").processes.set("speed", None, process="sdk", confidence=0.25)
    assert await memory.processes.get("speed") == second
    assert (second.value, second.provenance, second.evidence) == (None, "witnessed", [])
    assert (second.set_by, second.confidence, second.created_at) == ("other", 0.25, first.created_at)
    assert second.updated_at > first.updated_at


async def test_concurrent_writers_leave_one_row(wide_memory: AsyncMemory, count_rows: CountRows) -> None:
    await asyncio.gather(*(wide_memory.processes.set("speed", number) for number in range(WRITERS)))
    assert count_rows() == 1


async def test_attributes_are_listed_by_name_a_page_at_a_time(memory: AsyncMemory) -> None:
    for attribute in ("c", "a", "b"):
        await memory.processes.set(attribute, attribute, process="crawler")
    await memory.processes.set("z", 1)

    async def names(**options: Any) -> list[str]:
        return [row.attribute for row in await memory.processes.list(process="crawler", **options)]

    assert await names() == ["a", "b", "c"]
    assert await names(limit=2) == ["a", "b"]
    assert await names(after="b") == ["c"]
    assert [row.attribute for row in await memory.processes.list()] == ["z"]


async def test_owners_and_tenants_are_isolated(memory: AsyncMemory, foreign_memory: AsyncMemory) -> None:
    await memory.processes.set("speed", 3)
    assert await memory.processes.get("speed", owner="bob") is None
    assert await foreign_memory.processes.get("speed") is None
    assert await foreign_memory.processes.list() == []


BAD_INPUT: list[tuple[Call, str]] = [
    (lambda memory: memory.processes.set("", 1), "attribute"),
    (lambda memory: memory.processes.set("a" * 257, 1), "attribute"),
    (lambda memory: memory.processes.set(None, 1), "attribute must be text"),
    (lambda memory: memory.processes.set("a", object()), "value must be JSON"),
    (lambda memory: memory.processes.set("a", "\0"), "value must not contain NUL"),
    (lambda memory: memory.processes.set("a", 1, process=""), "process"),
    (
        lambda memory: memory.processes.set("a", 1, provenance="guessed"),
        "provenance must be one of measured",
    ),
    (
        lambda memory: memory.processes.set("a", 1, confidence=1.2),
        "confidence must be a number from 0 to 1",
    ),
    (lambda memory: memory.processes.set("a", 1, confidence=-0.1), "confidence must be a number from 0"),
    (lambda memory: memory.processes.set("a", 1, confidence=float("nan")), "confidence must be a finite"),
    (lambda memory: memory.processes.set("a", 1, confidence="1"), "confidence must be a number"),
    (lambda memory: memory.processes.set("a", 1, evidence=[None]), "evidence must be text"),
    (lambda memory: memory.processes.get("a\0"), "attribute"),
    (lambda memory: memory.processes.get("a", process=7), "process must be text"),
    (lambda memory: memory.processes.list(after=""), "after"),
    (lambda memory: memory.processes.list(limit=1001), "limit"),
]


async def test_bad_input_is_refused_and_nothing_is_written(
    memory: AsyncMemory, count_rows: CountRows, subtests: pytest.Subtests
) -> None:
    for call, said in BAD_INPUT:
        with subtests.test(said):
            with pytest.raises(InvalidInputError, match=said):
                await call(memory)
            assert count_rows() == 0
