"""One response of the provider, put together from its events."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mnemic.proxy.anthropic.blocks import has_words, texts_of
from mnemic.proxy.json_text import load_json
from mnemic.proxy.protocol import Body, HiddenCall

CUT_SHORT = frozenset({"max_tokens", "model_context_window_exceeded", "refusal"})
"""Reasons to stop that leave calls unanswered: the last one may be half a call."""
INPUT_TYPES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


@dataclass(slots=True)
class Response:
    """A response as far as it has arrived."""

    hidden: frozenset[str]
    blocks: dict[int, Body] = field(default_factory=dict)
    inputs: dict[int, list[str]] = field(default_factory=dict)
    """Pieces of the JSON of calls."""
    message: Body = field(default_factory=dict)
    """The message of the first event; of a response that was not streamed, its body."""
    usage: Body = field(default_factory=dict)
    stop: Body = field(default_factory=dict)
    """The `delta` of the last event: why the response ended."""
    is_complete: bool = False

    def start(self, message: Body) -> None:
        """Begin with the message of the first event."""
        self.message = message
        self.usage.update(_numbers(message.get("usage")))

    def start_block(self, index: int, block: Body) -> None:
        """Begin a content block."""
        self.blocks[index] = dict(block)
        if block.get("type") in INPUT_TYPES:
            self.inputs[index] = []

    def add(self, index: int, delta: Mapping[str, Any]) -> None:
        """Continue a content block."""
        block = self.blocks.get(index)
        if block is None:
            return
        match delta.get("type"):
            case "input_json_delta":
                self.inputs.setdefault(index, []).append(str(delta.get("partial_json", "")))
            case "citations_delta":
                block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
            case _:
                _append_texts(block, delta)

    def end_block(self, index: int) -> None:
        """End a content block: the arguments of a call are complete."""
        text = "".join(self.inputs.get(index, ()))
        if not text:
            return
        try:
            arguments = load_json(text)
        except ValueError:
            arguments = None
        self.blocks[index]["input"] = arguments if isinstance(arguments, dict) else {}

    def end(self, event: Mapping[str, Any]) -> None:
        """Take the event that says why the response ended, and what it used."""
        delta = event.get("delta")
        self.stop.update(delta if isinstance(delta, dict) else {})
        self.usage.update(_numbers(event.get("usage")))

    def take(self, body: Body) -> None:
        """Take a response that was not streamed."""
        self.start(body)
        for index, block in enumerate(body.get("content") or ()):
            self.blocks[index] = block
        self.stop = {name: body[name] for name in ("stop_reason", "stop_sequence") if name in body}
        self.is_complete = True

    def is_hidden(self, index: int) -> bool:
        """Whether a block is a call of a hidden tool."""
        block = self.blocks.get(index, {})
        return block.get("type") == "tool_use" and block.get("name") in self.hidden

    @property
    def hidden_calls(self) -> tuple[HiddenCall, ...]:
        """Calls that the proxy answers; none if the response did not come to its end."""
        if not self.is_answerable:
            return ()
        return tuple(
            HiddenCall(block["id"], block["name"], block.get("input") or {})
            for index, block in sorted(self.blocks.items())
            if self.is_hidden(index)
        )

    @property
    def is_answerable(self) -> bool:
        """Whether calls of hidden tools are complete and wait for results."""
        return self.is_complete and self.stop.get("stop_reason") not in CUT_SHORT

    @property
    def client_calls(self) -> tuple[tuple[str, str, Mapping[str, Any]], ...]:
        """Calls that the client answers: id, name, arguments."""
        return tuple(
            (block["id"], block["name"], block.get("input") or {})
            for index, block in sorted(self.blocks.items())
            if block.get("type") == "tool_use" and not self.is_hidden(index)
        )

    @property
    def visible(self) -> list[Body]:
        """Blocks that the client sees."""
        return [block for index, block in sorted(self.blocks.items()) if not self.is_hidden(index)]

    @property
    def content(self) -> list[Body]:
        """Blocks to send back to the provider, which rejects empty text and calls without result."""
        return [
            block
            for index, block in sorted(self.blocks.items())
            if has_words(block) and (self.is_answerable or not self.is_hidden(index))
        ]

    @property
    def text(self) -> str:
        """What the assistant said."""
        return "".join(texts_of(self.visible))

    @property
    def cached_tokens(self) -> int:
        """Tokens of the prompt that were read from the cache."""
        return _count(self.usage, "cache_read_input_tokens")

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt, cached ones included."""
        written = _count(self.usage, "cache_creation_input_tokens")
        return _count(self.usage, "input_tokens") + written + self.cached_tokens

    @property
    def output_tokens(self) -> int:
        """Tokens of the response."""
        return _count(self.usage, "output_tokens")


def _append_texts(block: Body, delta: Mapping[str, Any]) -> None:
    """Append the texts of a delta, also of a type that is not known yet."""
    for name, value in delta.items():
        if name == "type":
            continue
        before = block.get(name)
        block[name] = before + value if isinstance(before, str) and isinstance(value, str) else value


def _numbers(usage: object) -> Body:
    """The fields of a usage that are given: later events repeat some and leave others out."""
    fields = usage if isinstance(usage, dict) else {}
    return {name: value for name, value in fields.items() if value is not None}


def _count(usage: Body, name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0
