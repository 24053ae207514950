"""Consolidation and statements are the same on every transport."""

from typing import Any

import pytest

from mnemic.errors import InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.consolidated import Consolidated
from mnemic.types.statement import AttributeKind, ContradictionRule, RejectedStatement, Statement
from tests.conformance.conftest import Options


async def test_what_was_said_becomes_statements(memory: Any) -> None:
    turns = [{"role": "user", "content": text} for text in ("I live in Bath.", "I live in Oslo.")]
    await memory.retain(turns, conversation="c")
    learnt = await memory.consolidate(progress=True)
    assert isinstance(learnt, Consolidated)
    assert (learnt.statement_count, learnt.superseded_count) == (2, 1)
    (statement,) = await memory.statements.list(subject="the user", attribute="lives_in")
    assert isinstance(statement, Statement)
    assert (statement.statement, statement.value, statement.source_count) == (
        "The user lives in Oslo.",
        "Oslo",
        1,
    )
    (old,) = await memory.statements.list(status="superseded")
    assert await memory.statements.list(status=None) == [statement, old]
    assert await memory.statements.list(status=None, before=statement.memory_id, limit=1) == [old]
    assert await memory.consolidate(conversation="c", policy="flag_review") == Consolidated()


async def test_rejected_statements_are_listed(memory: Any) -> None:
    text = " ".join(f"I love number {count}." for count in range(7))
    await memory.retain(text, role="user", conversation="c")
    await memory.consolidate()
    rejected = await memory.statements.rejected()
    assert {(type(each), each.reason) for each in rejected} == {(RejectedStatement, "too many")}


async def test_policies_and_attributes_are_set_and_removed(memory: Any, options: Options) -> None:
    async with AsyncMemory(**options) as tenant:
        await _set_and_remove(memory, tenant)


async def _set_and_remove(memory: Any, tenant: AsyncMemory) -> None:
    assert await tenant.statements.set_policy("flag_review") == ContradictionRule(None, "flag_review")
    await tenant.statements.set_policy("prefer_old", channel="x")
    assert await memory.statements.policies() == [
        ContradictionRule(None, "flag_review"),
        ContradictionRule("x", "prefer_old"),
    ]
    assert await tenant.statements.remove_policy()
    assert await tenant.statements.remove_policy(channel="x")
    team = await tenant.statements.set_attribute("Team", is_single_valued=True)
    assert await memory.statements.attributes() == [team] == [AttributeKind("team", True)]
    assert await tenant.statements.remove_attribute("team")


async def test_wrong_arguments_are_refused(memory: Any) -> None:
    with pytest.raises(InvalidInputError):
        await memory.consolidate(policy="newest")
    with pytest.raises(InvalidInputError):
        await memory.consolidate(conversation=" ")
    with pytest.raises(InvalidInputError):
        await memory.statements.list(limit=0)
