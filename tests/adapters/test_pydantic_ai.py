"""The toolset works in a real agent of pydantic-ai, driven by its own test models."""

import sys
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from mnemic import AsyncMemory
from mnemic.adapters import pydantic_ai as adapter
from mnemic.adapters.pydantic_ai import memory_toolset
from mnemic.errors import ConfigurationError, InvalidInputError
from mnemic.models.testing import HashedWords


def returned(messages: Sequence[ModelMessage]) -> list[ToolReturnPart]:
    """What the tools answered, in order."""
    parts = (part for message in messages for part in message.parts)
    return [part for part in parts if isinstance(part, ToolReturnPart)]


def script(*calls: ToolCallPart) -> FunctionModel:
    """A model that makes these calls, one after the other, and then says that it is done."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        done = len(returned(messages))
        return ModelResponse(parts=[calls[done] if done < len(calls) else TextPart("done")])

    return FunctionModel(answer)


async def run(memory: AsyncMemory, *calls: ToolCallPart) -> list[ToolReturnPart]:
    agent = Agent(script(*calls), toolsets=[memory_toolset(memory)])
    return returned((await agent.run("go")).all_messages())


def offered(model: TestModel) -> set[str]:
    assert model.last_model_request_parameters is not None
    return {tool.name for tool in model.last_model_request_parameters.function_tools}


async def test_an_agent_remembers_and_looks_up(memory: AsyncMemory) -> None:
    stored, known, recalled, answered = await run(
        memory,
        ToolCallPart("retain", {"content": "Alice plays the cello.", "category": "preference"}),
        ToolCallPart("retain", {"content": "Alice plays the cello."}),
        ToolCallPart("recall", {"query": "Alice plays the cello"}),
        ToolCallPart("query_archive", {"question": "Alice plays the cello?"}),
    )
    (record,) = await memory.memories.list()
    assert (record.content, record.category) == ("Alice plays the cello.", "preference")
    assert stored.content == f"Stored: {record.memory_id}"
    assert known.content == f"Known already: {record.memory_id}"
    for part in (recalled, answered):
        assert "Alice plays the cello." in str(part.content)
        assert str(record.memory_id) in str(part.content)


async def test_an_agent_forgets_by_the_id_that_it_was_given(memory: AsyncMemory) -> None:
    memory_id = (await memory.retain("Bob likes tea.")).memory_ids[0]
    forgotten, nothing = await run(
        memory,
        ToolCallPart("forget", {"memory_id": str(memory_id), "reason": "wrong"}),
        ToolCallPart("recall", {"query": "tea"}),
    )
    assert forgotten.content == "Forgotten: Bob likes tea."
    assert str(nothing.content).startswith("Nothing found. ")
    assert (await memory.memories.history(memory_id))[-1].change_reason == "wrong"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (ToolCallPart("forget", {"memory_id": "no id"}), "memory_id must be an id"),
        (ToolCallPart("forget", {"memory_id": "0190a000-0000-7000-8000-000000000000"}), "There is no memory"),
        (ToolCallPart("retain", {"content": " "}), "content must not be empty"),
        (ToolCallPart("recall", {"query": "x", "limit": 0}), "limit must be"),
    ],
)
async def test_the_model_gets_its_mistakes_as_errors(
    memory: AsyncMemory, call: ToolCallPart, said: str
) -> None:
    (told,) = await run(memory, call)
    assert told.outcome == "retried"
    assert said in str(told.content)


async def test_every_tool_has_a_description(memory: AsyncMemory) -> None:
    model = TestModel(call_tools=[])
    await Agent(model, toolsets=[memory_toolset(memory)]).run("go")
    assert offered(model) == {"retain", "recall", "query_archive", "forget"}
    assert model.last_model_request_parameters is not None
    for tool in model.last_model_request_parameters.function_tools:
        assert tool.description
        properties = tool.parameters_json_schema["properties"]
        assert [name for name, schema in properties.items() if not schema.get("description")] == []
        assert "owner" not in properties


async def test_query_archive_is_offered_only_while_the_embedder_works(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "PROBE_CACHE_S", 0.0)
    model, toolset = TestModel(call_tools=[]), memory_toolset(memory)
    agent = Agent(model, toolsets=[toolset])

    async def fail(self: object, *arguments: object, **named: object) -> None:
        raise RuntimeError("the model is gone")

    with monkeypatch.context() as broken:
        broken.setattr(HashedWords, "embed", fail)
        await agent.run("go")
        assert offered(model) == {"retain", "recall", "forget"}
    await agent.run("go")
    assert "query_archive" in offered(model)


async def test_the_probe_of_the_embedder_is_cached(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, agent_tools = TestModel(call_tools=[]), memory_toolset(memory)
    agent = Agent(model, toolsets=[agent_tools])
    await agent.run("go")
    asked: list[str] = []

    async def count(self: object, query: str, **named: object) -> None:
        asked.append(query)

    monkeypatch.setattr(AsyncMemory, "recall", count)
    await agent.run("go")
    assert ("query_archive" in offered(model), asked) == (True, [])


async def test_a_missing_owner_and_a_missing_package_are_errors(
    memory: AsyncMemory, folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidInputError, match="needs an owner"):
        memory_toolset(AsyncMemory(data_dir=folder, embedder="test"))
    monkeypatch.setitem(sys.modules, "pydantic_ai.toolsets", None)
    with pytest.raises(ConfigurationError, match=r"mnemic\[providers\]"):
        memory_toolset(memory)
