"""Agents made with the Python SDKs: each runs prompts with two tools of its own, and says what it saw."""

import json
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import anthropic
import openai
from agents import Agent as OpenAIAgent
from agents import ModelSettings as AgentSettings
from agents import OpenAIChatCompletionsModel, OpenAIResponsesModel, RunConfig, Runner, function_tool
from pydantic_ai import Agent, AgentStreamEvent, RunContext
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.openai import OpenAIResponsesModel as PydanticResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.server.running import TLS

CLAUDE = "claude-scripted"
GPT = "gpt-5.1"
KEY = "sk-of-a-test"
TIMEOUT_S = 60.0
"""Of each request: the SDKs wait for ten minutes."""
TURNS_MAX = 200
"""A session that does not end by itself fails."""

ONE_STRING = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
COMMAND = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
SCHEMAS: Mapping[str, Mapping[str, Any]] = {"read": ONE_STRING, "bash": COMMAND}


@dataclass
class Seen:
    """What a client saw."""

    texts: list[str] = field(default_factory=list)
    """What the assistant said, per response that said something."""
    called: list[str] = field(default_factory=list)
    """Tools that the client was asked to call."""
    transcript: list[Any] = field(default_factory=list)
    """What it would send next."""


class Session(Protocol):
    """A conversation with one client."""

    seen: Seen

    async def ask(self, prompt: str) -> str:
        """One prompt, with all tool calls that it leads to; the last text."""

    async def aclose(self) -> None:
        """Close its connections."""


def anthropic_client(url: str, **options: Any) -> anthropic.AsyncAnthropic:
    """The SDK's client, with certificates that the tests read once."""
    http = anthropic.DefaultAsyncHttpxClient(verify=TLS)
    return anthropic.AsyncAnthropic(
        base_url=url, api_key=KEY, max_retries=0, timeout=TIMEOUT_S, http_client=http, **options
    )


def openai_client(url: str, **options: Any) -> openai.AsyncOpenAI:
    """The SDK's client, with certificates that the tests read once."""
    http = openai.DefaultAsyncHttpxClient(verify=TLS)
    return openai.AsyncOpenAI(
        base_url=f"{url}/v1", api_key=KEY, max_retries=0, timeout=TIMEOUT_S, http_client=http, **options
    )


def result_of(name: str, arguments: Mapping[str, Any]) -> str:
    """The result of a tool: long enough to be worth paging, and different for every argument."""
    argument = str(next(iter(arguments.values()), ""))
    lines = (f"{number}: {name} of {argument} gives value_{number}_{argument}" for number in range(40))
    return "\n".join(lines)


class AnthropicSession:
    """The anthropic SDK. `thinking` is its parameter of that name."""

    def __init__(self, url: str, *, is_streamed: bool = True, thinking: Any = None, **options: Any) -> None:
        self.seen = Seen()
        self._is_streamed = is_streamed
        self._client = anthropic_client(url, **options)
        self._options: dict[str, Any] = {"thinking": thinking} if thinking else {}
        self._tools: Any = [{"name": name, "input_schema": schema} for name, schema in SCHEMAS.items()]

    async def aclose(self) -> None:
        await self._client.close()

    async def ask(self, prompt: str) -> str:
        self.seen.transcript.append({"role": "user", "content": prompt})
        for _ in range(TURNS_MAX):
            message = await self._send()
            content = [block.model_dump(exclude_none=True) for block in message.content]
            self.seen.transcript.append({"role": "assistant", "content": content})
            self.seen.texts += [block.text for block in message.content if block.type == "text"]
            calls = [block for block in message.content if block.type == "tool_use"]
            assert (message.stop_reason == "tool_use") == bool(calls)
            if not calls:
                return self.seen.texts[-1]
            self.seen.called += [call.name for call in calls]
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": result_of(call.name, call.input)}
                for call in calls
            ]
            self.seen.transcript.append({"role": "user", "content": results})
        raise AssertionError("the session did not end")

    async def _send(self) -> anthropic.types.Message:
        given = {"model": CLAUDE, "max_tokens": 2_000, "messages": self.seen.transcript, "tools": self._tools}
        if not self._is_streamed:
            whole: anthropic.types.Message = await self._client.messages.create(**given, **self._options)
            return whole
        async with self._client.messages.stream(**given, **self._options) as stream:
            async for _ in stream:
                pass
            return await stream.get_final_message()


class ChatSession:
    """The openai SDK, Chat Completions."""

    def __init__(self, url: str, *, is_streamed: bool = True, **options: Any) -> None:
        self.seen = Seen()
        self._is_streamed = is_streamed
        self._client = openai_client(url, **options)
        self._tools: Any = [
            {"type": "function", "function": {"name": name, "parameters": schema}}
            for name, schema in SCHEMAS.items()
        ]

    async def aclose(self) -> None:
        await self._client.close()

    async def ask(self, prompt: str) -> str:
        self.seen.transcript.append({"role": "user", "content": prompt})
        for _ in range(TURNS_MAX):
            message = await self._send()
            calls = message.tool_calls or []
            kept: dict[str, Any] = {"role": "assistant", "content": message.content}
            if calls:
                kept["tool_calls"] = [_chat_call(call) for call in calls]
            self.seen.transcript.append(kept)
            self.seen.texts += [message.content] if message.content else []
            if not calls:
                return self.seen.texts[-1]
            for call in kept["tool_calls"]:
                self._answer(call)
        raise AssertionError("the session did not end")

    def _answer(self, call: dict[str, Any]) -> None:
        name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
        self.seen.called.append(name)
        self.seen.transcript.append(
            {"role": "tool", "tool_call_id": call["id"], "content": result_of(name, arguments)}
        )

    async def _send(self) -> Any:
        given: dict[str, Any] = {"model": GPT, "messages": self.seen.transcript, "tools": self._tools}
        if not self._is_streamed:
            return (await self._client.chat.completions.create(**given)).choices[0].message
        usage = {"include_usage": True}
        async with self._client.chat.completions.stream(**given, stream_options=usage) as stream:
            async for _ in stream:
                pass
            completion = await stream.get_final_completion()
            assert completion.usage is not None, "include_usage was asked for"
            return completion.choices[0].message


def _chat_call(call: Any) -> dict[str, Any]:
    function = {"name": call.function.name, "arguments": call.function.arguments}
    return {"id": call.id, "type": "function", "function": function}


class ResponsesSession:
    """The openai SDK, Responses: with `previous_response_id`, or with the whole history each time."""

    def __init__(self, url: str, *, is_streamed: bool = True, is_stored: bool = True, **options: Any) -> None:
        self.seen = Seen()
        self._is_streamed = is_streamed
        self._is_stored = is_stored
        self._previous: str | None = None
        self._client = openai_client(url, **options)
        self._tools: Any = [
            {"type": "function", "name": name, "parameters": schema, "strict": False}
            for name, schema in SCHEMAS.items()
        ]

    async def aclose(self) -> None:
        await self._client.close()

    async def ask(self, prompt: str) -> str:
        new: list[Any] = [{"role": "user", "content": prompt}]
        for _ in range(TURNS_MAX):
            response = await self._send(new)
            self._previous = response.id
            output = [
                item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output
            ]
            self.seen.transcript += output
            self.seen.texts += [response.output_text] if response.output_text else []
            calls = [item for item in output if item["type"] == "function_call"]
            if not calls:
                return self.seen.texts[-1]
            self.seen.called += [call["name"] for call in calls]
            new = [
                {
                    "type": "function_call_output",
                    "call_id": call["call_id"],
                    "output": result_of(call["name"], json.loads(call["arguments"])),
                }
                for call in calls
            ]
        raise AssertionError("the session did not end")

    async def _send(self, new: list[Any]) -> Any:
        self.seen.transcript += new
        given: dict[str, Any] = {"model": GPT, "tools": self._tools, "store": self._is_stored}
        if self._is_stored:
            given |= {"input": new} | ({"previous_response_id": self._previous} if self._previous else {})
        else:
            given |= {"input": self.seen.transcript, "include": ["reasoning.encrypted_content"]}
        if not self._is_streamed:
            return await self._client.responses.create(**given)
        async with self._client.responses.stream(**given) as stream:
            async for _ in stream:
                pass
            return await stream.get_final_response()


class PydanticSession:
    """pydantic-ai with a model of OpenAI."""

    def __init__(self, url: str, *, api: str = "chat", is_streamed: bool = True) -> None:
        self.seen = Seen()
        self._is_streamed = is_streamed
        self._client = openai_client(url)
        provider = OpenAIProvider(openai_client=self._client)
        model = OpenAIChatModel if api == "chat" else PydanticResponsesModel
        self._agent = Agent(model(GPT, provider=provider))
        for name in SCHEMAS:
            self._agent.tool_plain(name=name)(_tool(name, self.seen))

    async def aclose(self) -> None:
        await self._client.close()

    async def ask(self, prompt: str) -> str:
        # With a handler of events, requests are streamed; `run_stream` would end with the first text.
        handler = _ignore_events if self._is_streamed else None
        history = self.seen.transcript or None
        ended = await self._agent.run(prompt, message_history=history, event_stream_handler=handler)
        self.seen.transcript = list(ended.all_messages())
        self.seen.texts.append(ended.output)
        return ended.output


async def _ignore_events(_: RunContext[object], events: AsyncIterable[AgentStreamEvent]) -> None:
    async for _event in events:
        pass


class OpenAIAgentsSession:
    """openai-agents with either API."""

    def __init__(self, url: str, *, api: str = "responses", is_streamed: bool = True) -> None:
        self.seen = Seen()
        self._is_streamed = is_streamed
        self._client = openai_client(url)
        model = OpenAIResponsesModel if api == "responses" else OpenAIChatCompletionsModel
        self._agent = OpenAIAgent(
            name="tester",
            instructions="Be brief.",
            tools=[function_tool(_tool(name, self.seen), name_override=name) for name in SCHEMAS],
            model=model(GPT, self._client),
            model_settings=AgentSettings(include_usage=True),
        )

    async def aclose(self) -> None:
        await self._client.close()

    async def ask(self, prompt: str) -> str:
        given = [*self.seen.transcript, {"role": "user", "content": prompt}]
        quiet = RunConfig(tracing_disabled=True)
        if self._is_streamed:
            running = Runner.run_streamed(self._agent, given, run_config=quiet, max_turns=TURNS_MAX)
            async for _ in running.stream_events():
                pass
            self.seen.transcript, text = list(running.to_input_list()), str(running.final_output)
        else:
            ended = await Runner.run(self._agent, given, run_config=quiet, max_turns=TURNS_MAX)
            self.seen.transcript, text = list(ended.to_input_list()), str(ended.final_output)
        self.seen.texts.append(text)
        return text


def _tool(name: str, seen: Seen) -> Callable[..., Awaitable[str]]:
    async def read(path: str) -> str:
        """Read a file."""
        seen.called.append("read")
        return result_of("read", {"path": path})

    async def bash(command: str) -> str:
        """Run a command."""
        seen.called.append("bash")
        return result_of("bash", {"command": command})

    return read if name == "read" else bash


Opener = Callable[[str], Session]

THINKING = {"type": "enabled", "budget_tokens": 1_024}
KINDS: Mapping[str, Callable[..., Session]] = {
    "anthropic": AnthropicSession,
    "anthropic thinking": partial(AnthropicSession, thinking=THINKING),
    "openai chat": ChatSession,
    "openai responses stored": ResponsesSession,
    "openai responses stateless": partial(ResponsesSession, is_stored=False),
    "pydantic-ai chat": PydanticSession,
    "pydantic-ai responses": partial(PydanticSession, api="responses"),
    "openai-agents responses": OpenAIAgentsSession,
    "openai-agents chat": partial(OpenAIAgentsSession, api="chat"),
}

CLIENTS: Mapping[str, Opener] = {
    f"{name}, {how}": partial(kind, is_streamed=how == "streamed")
    for name, kind in KINDS.items()
    for how in ("streamed", "whole")
}
"""Every client, streamed and not, by name."""
