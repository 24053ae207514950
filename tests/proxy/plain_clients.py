"""Clients without a network: each keeps its own transcript and makes the body of its next request."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mnemic.proxy.protocol import ApiName, Body

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = ("read", "bash")
MARKER = {"type": "ephemeral"}


class PlainClient(Protocol):
    """One conversation with one API."""

    api: ApiName

    def ask(self, prompt: str) -> None:
        """Words of the user."""

    def take(self, response: Body, results: Sequence[str]) -> None:
        """A whole response, and the results of its calls in order; the last one repeats."""

    def body(self) -> Body:
        """The next request."""


@dataclass
class AnthropicClient:
    """Messages, with breakpoints where Claude Code puts them: tools, instructions, the last message."""

    thinking: Mapping[str, Any] | None = None
    breakpoints: int = 3
    messages: list[Body] = field(default_factory=list)
    api: ApiName = "anthropic"

    def ask(self, prompt: str) -> None:
        self.messages.append({"role": "user", "content": [{"type": "text", "text": prompt}]})

    def take(self, response: Body, results: Sequence[str]) -> None:
        self.messages.append({"role": "assistant", "content": response["content"]})
        calls = [block for block in response["content"] if block["type"] == "tool_use"]
        if calls:
            answered = [
                {"type": "tool_result", "tool_use_id": call["id"], "content": _result(results, number)}
                for number, call in enumerate(calls)
            ]
            self.messages.append({"role": "user", "content": answered})

    def body(self) -> Body:
        tools: list[Body] = [{"name": name, "input_schema": SCHEMA} for name in TOOLS]
        system: list[Body] = [{"type": "text", "text": "Be brief."}]
        messages = [dict(message) for message in self.messages]
        last = [dict(block) for block in messages[-1]["content"]]
        messages[-1]["content"] = last
        for place in [tools[-1], system[-1], last[-1], tools[0]][: self.breakpoints]:
            place["cache_control"] = MARKER
        body: Body = {"model": "claude-scripted", "max_tokens": 99, "tools": tools, "system": system}
        return body | {"messages": messages} | ({"thinking": dict(self.thinking)} if self.thinking else {})


@dataclass
class ChatClient:
    """Chat Completions."""

    messages: list[Body] = field(default_factory=list)
    api: ApiName = "chat"

    def ask(self, prompt: str) -> None:
        self.messages.append({"role": "user", "content": prompt})

    def take(self, response: Body, results: Sequence[str]) -> None:
        message = response["choices"][0]["message"]
        self.messages.append({key: value for key, value in message.items() if key != "refusal"})
        for number, call in enumerate(message.get("tool_calls") or ()):
            self.messages.append(
                {"role": "tool", "tool_call_id": call["id"], "content": _result(results, number)}
            )

    def body(self) -> Body:
        tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in TOOLS]
        return {"model": "gpt-scripted", "tools": tools, "messages": list(self.messages)}


@dataclass
class ResponsesClient:
    """Responses, stateless: the whole history with every request."""

    items: list[Body] = field(default_factory=list)
    api: ApiName = "responses"

    def ask(self, prompt: str) -> None:
        self.items.append({"type": "message", "role": "user", "content": prompt})

    def take(self, response: Body, results: Sequence[str]) -> None:
        self.items += response["output"]
        calls = [item for item in response["output"] if item["type"] == "function_call"]
        for number, call in enumerate(calls):
            output = _result(results, number)
            self.items.append({"type": "function_call_output", "call_id": call["call_id"], "output": output})

    def body(self) -> Body:
        tools = [{"type": "function", "name": name, "parameters": SCHEMA} for name in TOOLS]
        included = {"store": False, "include": ["reasoning.encrypted_content"]}
        return {"model": "gpt-scripted", "tools": tools, "input": list(self.items), **included}


def _result(results: Sequence[str], number: int) -> str:
    return results[min(number, len(results) - 1)]


def copied(body: Body) -> Body:
    """A body as it arrives at the other end."""
    copy: Body = json.loads(json.dumps(body))
    return copy
