"""The Anthropic Messages API."""

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any, assert_never

from tests.proxy.upstream import thinking
from tests.proxy.upstream.anthropic_checks import blocks_of, check, is_prompt
from tests.proxy.upstream.api import Answer, Body, Reading
from tests.proxy.upstream.canonical import canonical, tokens
from tests.proxy.upstream.event_pieces import event, slices
from tests.proxy.upstream.identifiers import Identifiers
from tests.proxy.upstream.places import ModelTurn, Prompt, history_ids, place_of, text_key
from tests.proxy.upstream.prefix_cache import CacheUse, PrefixCache, Unit
from tests.proxy.upstream.rules import HasRules
from tests.proxy.upstream.script import Call, Part, Place, Text, Thinking, Tool, spoken

ERROR_TYPES = {
    400: "invalid_request_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
FIRST_THOUGHT = "Let me think about what to do first."


class AnthropicApi:
    """State: the prompt cache."""

    def __init__(self, settings: HasRules, identifiers: Identifiers) -> None:
        self._settings = settings
        self._new_id = identifiers.new
        self._cache = PrefixCache()

    def read(self, body: Body, headers: dict[str, str], issued: Collection[str]) -> Reading:
        dropped = check(body, headers, self._settings.rules.binding)
        history = list(_history(body["messages"]))
        return Reading(
            place=place_of(history, issued),
            tools=tuple(
                Tool(tool["name"], tool["input_schema"])
                for tool in body.get("tools") or ()
                if "input_schema" in tool
            ),
            units=tuple(units(body)),
            ids=history_ids(history),
            dropped_thinking=dropped,
        )

    def cache_use(self, model: str, units: Sequence[Unit]) -> CacheUse:
        return self._cache.use_breakpoints(model, units)

    def answer(self, body: Body, reading: Reading, parts: Sequence[Part], use: CacheUse) -> Answer:
        content = self._content(body, reading.place, parts)
        calls = frozenset(block["id"] for block in content if block["type"] == "tool_use")
        message = {
            "id": self._new_id("msg"),
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": content,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": use.fresh,
                "cache_creation_input_tokens": use.written,
                "cache_read_input_tokens": use.read,
                "output_tokens": tokens(content),
            },
        }
        if reading.dropped_thinking and (body.get("thinking") or {}).get("block_binding"):
            message["input_transformations"] = [
                {"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"}
                for path in reading.dropped_thinking
            ]
        return Answer(message, tuple(_events(message)), calls | {text_key(spoken(parts))})

    def _content(self, body: Body, place: Place, parts: Sequence[Part]) -> list[Body]:
        is_enabled = (body.get("thinking") or {}).get("type") == "enabled"
        if is_enabled and place.turn == 0 and not isinstance(parts[0], Thinking):
            parts = [Thinking(FIRST_THOUGHT), *parts]
        prefix = thinking.Prefix(body.get("system"), body.get("tools"))
        previous = ""
        for message in body["messages"]:
            for block in blocks_of(message.get("content")):
                prefix.add(message["role"], block)
                previous = block["signature"] if block.get("type") == "thinking" else previous
        content: list[Body] = []
        for part in parts:
            content.append(self._block(part, prefix.value(), previous))
            prefix.add("assistant", content[-1])
            previous = content[-1].get("signature", previous)
        return content

    def _block(self, part: Part, prefix: str, previous: str) -> Body:
        match part:
            case Text(text):
                return {"type": "text", "text": text}
            case Thinking(text):
                signature = thinking.signature(text, prefix, previous)
                return {"type": "thinking", "thinking": text, "signature": signature}
            case Call(name, arguments):
                return {
                    "type": "tool_use",
                    "id": self._new_id("toolu"),
                    "name": name,
                    "input": dict(arguments),
                }
        assert_never(part)

    def error(self, status: int, message: str, code: str | None = None) -> Body:
        error = {"type": ERROR_TYPES.get(status, "api_error"), "message": message}
        return {"type": "error", "error": error, "request_id": self._new_id("req")}

    def error_event(self, status: int, message: str) -> bytes:
        error = {"type": ERROR_TYPES.get(status, "api_error"), "message": message}
        return event("error", {"type": "error", "error": error})


def units(body: Body) -> Iterator[Unit]:
    """Tools, instructions and blocks of messages, with the client's breakpoints."""
    for tool in body.get("tools") or ():
        yield _unit("tool", tool)
    for block in blocks_of(body.get("system")):
        yield _unit("system", block)
    blocks = [(m["role"], block) for m in body["messages"] for block in blocks_of(m.get("content"))]
    for number, (role, block) in enumerate(blocks):
        is_last = number == len(blocks) - 1 and bool(body.get("cache_control"))
        yield Unit(role + canonical(block), is_last or bool(block.get("cache_control")))


def _unit(role: str, block: dict[str, Any]) -> Unit:
    return Unit(role + canonical(block), bool(block.get("cache_control")))


def _call_ids(messages: Sequence[Body]) -> Iterator[str]:
    for message in messages:
        for block in blocks_of(message.get("content")):
            if block.get("type") == "tool_use":
                yield block["id"]


def _history(messages: Sequence[Body]) -> Iterator[Prompt | ModelTurn]:
    for message in messages:
        if is_prompt(message):
            yield Prompt()
        elif message["role"] == "assistant":
            texts = [
                block["text"] for block in blocks_of(message.get("content")) if block.get("type") == "text"
            ]
            yield ModelTurn(tuple(_call_ids([message])), "".join(texts))


def _events(message: Body) -> Iterator[bytes]:
    begun = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    begun.pop("input_transformations", None)
    yield event("message_start", {"type": "message_start", "message": begun})
    yield event("ping", {"type": "ping"})
    for index, block in enumerate(message["content"]):
        start, deltas = _deltas(block)
        yield _block_event("content_block_start", index, content_block=start)
        for delta in deltas:
            yield _block_event("content_block_delta", index, delta=delta)
        yield _block_event("content_block_stop", index)
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    added = {key: message[key] for key in ("input_transformations",) if key in message}
    yield event(
        "message_delta", {"type": "message_delta", "delta": ending, "usage": message["usage"], **added}
    )
    yield event("message_stop", {"type": "message_stop"})


def _block_event(name: str, index: int, **fields: Any) -> bytes:
    return event(name, {"type": name, "index": index, **fields})


def _deltas(block: Body) -> tuple[Body, list[Body]]:
    match block["type"]:
        case "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in slices(block["text"])]
            return {"type": "text", "text": ""}, deltas
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in slices(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    pieces = ["", *slices(json.dumps(block["input"]))]
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return {**block, "input": {}}, deltas
