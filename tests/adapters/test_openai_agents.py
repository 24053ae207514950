"""`MnemicSession` keeps the history of an agent of the real OpenAI Agents SDK, without a network."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, SQLiteSession, Usage, function_tool
from agents.memory import Session, SessionSettings
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from mnemic import AsyncMemory
from mnemic.adapters import openai_agents
from mnemic.adapters.openai_agents import MnemicSession
from mnemic.errors import InvalidInputError

ITEMS: list[Any] = [
    {"role": "user", "content": "Where do I live?"},
    {"type": "function_call", "call_id": "1", "name": "look_up", "arguments": '{"who": "Alice"}'},
    {"type": "function_call_output", "call_id": "1", "output": "Berlin"},
    {
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "id": "m",
        "content": [{"type": "output_text", "text": "In Berlin.", "annotations": []}],
    },
    {"role": "user", "content": "Where do I live?"},
]


@pytest.fixture(params=["their own", "ours"])
async def session(request: pytest.FixtureRequest, memory: AsyncMemory) -> AsyncIterator[Session]:
    """The SDK's session, to validate the test, and ours."""
    if request.param == "ours":
        yield MnemicSession("support-42", memory)
    else:
        own = SQLiteSession("support-42")
        yield own
        own.close()


def test_it_implements_the_session_protocol(memory: AsyncMemory) -> None:
    assert isinstance(MnemicSession("x", memory), Session)


async def test_items_come_back_as_they_were(session: Session) -> None:
    assert await session.get_items() == []
    await session.add_items(ITEMS[:2])
    await session.add_items([])
    await session.add_items(ITEMS[2:])
    assert await session.get_items() == ITEMS
    assert await session.get_items(limit=2) == ITEMS[-2:]
    assert await session.get_items(limit=100) == ITEMS
    assert await session.get_items(limit=0) == []


async def test_the_last_item_can_be_popped(session: Session) -> None:
    assert await session.pop_item() is None
    await session.add_items(ITEMS)
    assert await session.pop_item() == ITEMS[-1]
    assert await session.pop_item() == ITEMS[-2]
    assert await session.get_items() == ITEMS[:-2]
    await session.add_items(ITEMS[-1:])
    assert await session.get_items() == [*ITEMS[:-2], ITEMS[-1]]


async def test_a_session_can_be_cleared_and_used_again(session: Session) -> None:
    await session.add_items(ITEMS)
    await session.clear_session()
    await session.clear_session()
    assert await session.get_items() == []
    assert await session.pop_item() is None
    await session.add_items(ITEMS[:1])
    assert await session.get_items() == ITEMS[:1]


async def test_settings_limit_the_returned_items(memory: AsyncMemory) -> None:
    session = MnemicSession("x", memory, session_settings=SessionSettings(limit=1))
    await session.add_items(ITEMS)
    assert await session.get_items() == ITEMS[-1:]
    assert await session.get_items(limit=2) == ITEMS[-2:]


async def test_sessions_and_owners_stay_apart(memory: AsyncMemory) -> None:
    await MnemicSession("one", memory).add_items(ITEMS[:1])
    assert await MnemicSession("two", memory).get_items() == []
    assert await MnemicSession("one", memory, owner="bob").get_items() == []


async def test_turns_are_recalled_unless_they_were_popped(memory: AsyncMemory) -> None:
    session = MnemicSession("x", memory)
    await session.add_items([{"role": "user", "content": "My cello is from 1890."}])
    assert "1890" in (await memory.recall("How old is the cello?", refuse_below=0)).text
    await session.pop_item()
    assert not await memory.recall("How old is the cello?", refuse_below=0)


async def test_long_items_and_long_sessions_are_whole(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_agents, "LIST_MAX", 3)
    items: list[Any] = [
        {"role": "user", "content": f"{number} " * (5_000 if number == 4 else 1)} for number in range(9)
    ]
    session = MnemicSession("x", memory)
    await session.add_items(items)
    assert await session.get_items() == items
    for item in reversed(items):
        assert await session.pop_item() == item


async def test_bad_items_are_refused_and_nothing_is_stored(memory: AsyncMemory) -> None:
    session = MnemicSession("x", memory)
    for bad in (["text"], [ITEMS[0], {"role": "user", "content": "x", "extra": object()}]):
        with pytest.raises(InvalidInputError):
            await session.add_items(bad)  # type: ignore[arg-type]
    assert await session.get_items() == []
    with pytest.raises(InvalidInputError, match="session_id"):
        MnemicSession("", memory)


class ScriptedModel(Model):
    """Calls the tool first, then answers, and keeps what it was given."""

    def __init__(self) -> None:
        self.inputs: list[Any] = []

    async def get_response(
        self, system_instructions: Any, input: Any, *rest: Any, **more: Any
    ) -> ModelResponse:
        self.inputs.append(input)
        output: Any = ResponseOutputMessage(
            id="m",
            type="message",
            role="assistant",
            status="completed",
            content=[ResponseOutputText(type="output_text", text="In Berlin.", annotations=[])],
        )
        if len(self.inputs) == 1:
            output = ResponseFunctionToolCall(
                type="function_call", call_id="1", name="look_up", arguments='{"who": "Alice"}'
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *rest: Any, **more: Any) -> Any:
        raise NotImplementedError


@function_tool
def look_up(who: str) -> str:
    """Where somebody lives."""
    return "Berlin"


async def test_an_agent_remembers_from_run_to_run(memory: AsyncMemory) -> None:
    model = ScriptedModel()
    agent = Agent("helper", model=model, tools=[look_up])
    config = RunConfig(tracing_disabled=True)
    first = MnemicSession("support-42", memory)
    answered = await Runner.run(agent, "Where do I live?", session=first, run_config=config)
    assert answered.final_output == "In Berlin."
    second = MnemicSession("support-42", memory)
    await Runner.run(agent, "Are you sure?", session=second, run_config=config)
    kinds = [item.get("type") or item["role"] for item in model.inputs[-1]]
    assert kinds == ["user", "function_call", "function_call_output", "message", "user"]
    assert len(await second.get_items()) == 6
