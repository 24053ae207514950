"""Requests and hand-written responses of the Messages API."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from mnemic.proxy.anthropic.relay import AnthropicRelay
from mnemic.proxy.protocol import Body, HiddenTool, Round, ServerSentEvent

TOOLS = [
    {"name": "Read", "input_schema": {"type": "object"}},
    {"name": "Bash", "input_schema": {"type": "object"}},
]
HIDDEN = (
    HiddenTool("memory_query", "Ask the memory.", {"type": "object"}),
    HiddenTool("recall", "Recall.", {}),
)
HIDDEN_NAMES = frozenset(tool.name for tool in HIDDEN)


def request(*messages: Body, **fields: Any) -> Body:
    """The body of a request with tools."""
    return {"model": "claude", "max_tokens": 10, "tools": TOOLS, "messages": list(messages), **fields}


def user(*content: Any) -> Body:
    """A message of the user; a single string stays a string."""
    is_text = len(content) == 1 and isinstance(content[0], str)
    return {"role": "user", "content": content[0] if is_text else [_block(part) for part in content]}


def assistant(*content: Any) -> Body:
    """A message of the assistant."""
    return {"role": "assistant", "content": [_block(part) for part in content]}


def call(call_id: str, name: str = "Read", **arguments: Any) -> Body:
    """A call of a tool."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def query(call_id: str, question: str = "why?") -> Body:
    """A call of a hidden tool."""
    return call(call_id, "memory_query", question=question)


def result(call_id: str, content: Any = "text", **fields: Any) -> Body:
    """A result of a call."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def thought(text: str, signature: str = "s") -> Body:
    """A thinking block."""
    return {"type": "thinking", "thinking": text, "signature": signature}


def event(name: str, **fields: Any) -> ServerSentEvent:
    """An event with spaces that a rewritten one would not have."""
    data = json.dumps({"type": name, **fields}).encode()
    return ServerSentEvent(name, data, f"event: {name}\ndata: ".encode() + data + b"\n\n")


def events(
    *content: Any, stop: str | None = None, usage: Mapping[str, int] | None = None
) -> list[ServerSentEvent]:
    """The events of a response."""
    blocks = [_block(part) for part in content]
    calls = any(block["type"] == "tool_use" for block in blocks)
    used = {
        "input_tokens": 5,
        "cache_read_input_tokens": 90,
        "cache_creation_input_tokens": 5,
        **(usage or {}),
    }
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": used}
    stream = [event("message_start", message=message), event("ping")]
    for index, block in enumerate(blocks):
        stream += _block_events(index, block)
    delta = {"stop_reason": stop or ("tool_use" if calls else "end_turn"), "stop_sequence": None}
    return [*stream, event("message_delta", delta=delta, usage={"output_tokens": 7}), event("message_stop")]


def feed(relay: AnthropicRelay, stream: Iterable[ServerSentEvent]) -> tuple[bytes, Round]:
    """What the client sees of a response, and the round."""
    shown = b"".join(map(relay.feed, stream))
    return shown, relay.end_round()


def parse(stream: bytes) -> list[Body]:
    """The data of the events that a client got."""
    blocks = [block for block in stream.decode().split("\n\n") if block]
    parsed = [json.loads(block.split("data: ", 1)[1]) for block in blocks]
    for block, data in zip(blocks, parsed, strict=True):
        # Clients dispatch on the name of the event.
        assert block.startswith(f"event: {data['type']}\n")
    return parsed


def assembled(stream: bytes) -> Body:
    """The message that a client makes of a stream. Indexes must count up without gaps."""
    message: Body = {}
    inputs: dict[int, str] = {}
    for data in parse(stream):
        match data["type"]:
            case "message_start":
                assert not message
                message = {**data["message"], "content": []}
            case "content_block_start":
                assert data["index"] == len(message["content"])
                message["content"].append(data["content_block"])
            case "content_block_delta":
                _add(message["content"][data["index"]], data["delta"], inputs, data["index"])
            case "content_block_stop" if data["index"] in inputs:
                message["content"][data["index"]]["input"] = json.loads(inputs[data["index"]] or "{}")
            case "message_delta":
                message |= data["delta"]
                message["usage"] = {**message["usage"], **data["usage"]}
            case "message_stop":
                message["is_complete"] = True
    return message


def _add(block: Body, delta: Body, inputs: dict[int, str], index: int) -> None:
    match delta["type"]:
        case "input_json_delta":
            inputs[index] = inputs.get(index, "") + delta["partial_json"]
        case "text_delta":
            block["text"] += delta["text"]
        case "thinking_delta":
            block["thinking"] += delta["thinking"]
        case "signature_delta":
            block["signature"] += delta["signature"]


def _block(part: Any) -> Body:
    return {"type": "text", "text": part} if isinstance(part, str) else part


def _block_events(index: int, block: Body) -> list[ServerSentEvent]:
    start, deltas = _deltas(block)
    return [
        event("content_block_start", index=index, content_block=start),
        *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
        event("content_block_stop", index=index),
    ]


def _deltas(block: Body) -> tuple[Body, list[Body]]:
    match block["type"]:
        case "text":
            text = block["text"]
            return {**block, "text": ""}, [
                {"type": "text_delta", "text": text[:3]},
                {"type": "text_delta", "text": text[3:]},
            ]
        case "thinking":
            return {"type": "thinking", "thinking": "", "signature": ""}, [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        case "tool_use" | "server_tool_use":
            text = json.dumps(block["input"])
            pieces = ["", text[:4], text[4:]]
            return {**block, "input": {}}, [
                {"type": "input_json_delta", "partial_json": piece} for piece in pieces
            ]
        case _:
            return block, []
