"""Flagged actors, which an owner should not trust."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.tiers import ActorFlag
from tests.many_writers import WRITERS
from tests.two_tenants import CountRows

Call = Callable[[Any], Coroutine[Any, Any, object]]


async def test_a_flag_has_actor_reason_and_evidence(memory: AsyncMemory) -> None:
    turn = uuid4()
    flag = await memory.actors.flag(
        "mallory", reason="asked for the key", severity="high", evidence=[turn, "mail of 3 March"]
    )
    assert (flag.actor, flag.reason, flag.severity) == ("mallory", "asked for the key", "high")
    assert flag.evidence == [str(turn), "mail of 3 March"]
    assert (flag.owner, flag.process, flag.cleared_at, flag.clearing_reason) == ("alice", "sdk", None, None)
    assert await memory.actors.list() == [flag]


async def test_an_actor_is_flagged_until_every_flag_is_cleared(memory: AsyncMemory) -> None:
    assert not await memory.actors.is_flagged("mallory")
    for reason in ("asked for the key", "asked again"):
        await memory.actors.flag("mallory", reason=reason)
    assert await memory.actors.is_flagged("mallory")
    assert await memory.actors.clear("mallory", reason="it was a test") == 2
    assert not await memory.actors.is_flagged("mallory")
    assert await memory.actors.clear("mallory", reason="again") == 0


async def test_a_cleared_flag_stays_as_history(memory: AsyncMemory) -> None:
    await memory.actors.flag("mallory", reason="asked for the key")
    await memory.actors.clear("mallory", reason="it was a test")
    assert await memory.actors.list() == []
    (flag,) = await memory.actors.list(include_cleared=True)
    assert (flag.reason, flag.clearing_reason) == ("asked for the key", "it was a test")
    assert flag.cleared_at is not None
    await memory.actors.flag("mallory", reason="asked once more")
    assert [each.reason for each in await memory.actors.list()] == ["asked once more"]


async def test_concurrent_writers_lose_no_flag(wide_memory: AsyncMemory) -> None:
    flags = [wide_memory.actors.flag("mallory", reason=f"reason {number}") for number in range(WRITERS)]
    await asyncio.gather(*flags)
    assert len(await wide_memory.actors.list(actor="mallory")) == WRITERS
    cleared = await asyncio.gather(
        *(wide_memory.actors.clear("mallory", reason="all of them") for _ in range(WRITERS))
    )
    assert sum(cleared) == WRITERS


async def test_pages_have_no_gaps_or_repetitions(memory: AsyncMemory) -> None:
    for number in range(7):
        at = datetime(2026, 3, 1 + number // 3, tzinfo=UTC)
        await memory.actors.flag(f"actor {number}", reason="r", at=at)
    everything = await memory.actors.list()
    paged: list[ActorFlag] = []
    while page := await memory.actors.list(limit=2, before=paged[-1].flag_id if paged else None):
        paged += page
    assert paged == everything
    assert len(paged) == 7
    assert [flag.actor for flag in await memory.actors.list(actor="actor 3")] == ["actor 3"]


async def test_owners_and_tenants_are_isolated(memory: AsyncMemory, foreign_memory: AsyncMemory) -> None:
    flag = await memory.actors.flag("mallory", reason="asked for the key")
    for stranger, owner in ((memory, "bob"), (foreign_memory, "alice")):
        assert not await stranger.actors.is_flagged("mallory", owner=owner)
        assert await stranger.actors.clear("mallory", reason="no", owner=owner) == 0
        assert await stranger.actors.list(include_cleared=True, owner=owner) == []
        with pytest.raises(NotFoundError):
            await stranger.actors.list(before=flag.flag_id, owner=owner)
    assert await memory.actors.is_flagged("mallory")


BAD_INPUT: list[tuple[Call, str]] = [
    (lambda memory: memory.actors.flag("", reason="r"), "actor"),
    (lambda memory: memory.actors.flag("a" * 257, reason="r"), "actor"),
    (lambda memory: memory.actors.flag(7, reason="r"), "actor must be text"),
    (lambda memory: memory.actors.flag("a", reason=""), "reason must not be empty"),
    (lambda memory: memory.actors.flag("a", reason="r" * 1025), "reason has 1,025 characters"),
    (lambda memory: memory.actors.flag("a", reason="r\0"), "reason must not contain NUL"),
    (lambda memory: memory.actors.flag("a", reason="r", severity="huge"), "severity must be one of"),
    (lambda memory: memory.actors.flag("a", reason="r", evidence=7), "evidence must be"),
    (lambda memory: memory.actors.flag("a", reason="r", evidence=[7]), "evidence must be text"),
    (lambda memory: memory.actors.flag("a", reason="r", evidence={"a": 1}), "evidence must be"),
    (lambda memory: memory.actors.flag("a", reason="r", evidence=["x"] * 65), "at most 64"),
    (lambda memory: memory.actors.flag("a", reason="r", evidence=["x" * 1025]), "1,025 characters"),
    (lambda memory: memory.actors.flag("a", reason="r", at=datetime(2026, 3, 1)), "at has no time zone"),
    (lambda memory: memory.actors.clear("", reason="r"), "actor"),
    (lambda memory: memory.actors.clear("a", reason=" "), "reason must not be empty"),
    (lambda memory: memory.actors.is_flagged(None), "actor must be text"),
    (lambda memory: memory.actors.list(include_cleared="yes"), "include_cleared must be True or False"),
    (lambda memory: memory.actors.list(actor=""), "actor"),
    (lambda memory: memory.actors.list(before="x"), "before must be an id"),
    (lambda memory: memory.actors.list(limit=0), "limit"),
]


async def test_bad_input_is_refused_and_nothing_is_written(
    memory: AsyncMemory, count_rows: CountRows, subtests: pytest.Subtests
) -> None:
    for call, said in BAD_INPUT:
        with subtests.test(said):
            with pytest.raises(InvalidInputError, match=said):
                await call(memory)
            assert count_rows() == 0
