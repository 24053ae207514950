"""The OpenAI Responses API, stored and stateless."""

import json
import time
from collections.abc import Collection, Iterator, Sequence
from itertools import count
from typing import Any, assert_never

from tests.proxy.upstream.api import Answer, Body, Invalid, Reading
from tests.proxy.upstream.canonical import canonical, tokens
from tests.proxy.upstream.chat_api import error_of
from tests.proxy.upstream.event_pieces import event, slices
from tests.proxy.upstream.identifiers import Identifiers
from tests.proxy.upstream.places import ModelTurn, Prompt, history_ids, place_of, text_key
from tests.proxy.upstream.prefix_cache import CacheUse, PrefixCache, Unit
from tests.proxy.upstream.responses_checks import CALLS, check, encrypted, kind_of
from tests.proxy.upstream.script import Call, Part, Text, Thinking, Tool, spoken

ECHOED = (
    "instructions",
    "metadata",
    "parallel_tool_calls",
    "previous_response_id",
    "reasoning",
    "text",
    "tools",
)


class ResponsesApi:
    """State: the prompt cache, stored responses, and which reasoning belongs to which call."""

    def __init__(self, identifiers: Identifiers) -> None:
        self._new_id = identifiers.new
        self._cache = PrefixCache()
        self._stored: dict[str, list[Body]] = {}
        self.kept: dict[str, Body] = {}
        """Responses by their id, until they are deleted."""
        self._is_stored: dict[str, bool] = {}
        self._companions: dict[str, str] = {}

    def read(self, body: Body, headers: dict[str, str], issued: Collection[str]) -> Reading:
        items = self._all_items(body)
        check(items, self._is_stored, self._companions)
        tools = list(_functions(body.get("tools") or ()))
        names = [tool.name for tool in tools]
        if len(names) != len(set(names)):
            raise Invalid("Invalid 'tools': tool names must be unique.")
        parts = [
            *(body.get("tools") or ()),
            *([body["instructions"]] if body.get("instructions") else []),
            *items,
        ]
        history = list(_history(items))
        ids = {str(item[key]) for item in items for key in ("id", "call_id") if item.get(key)}
        return Reading(
            place=place_of(history, issued),
            tools=tuple(tools),
            units=tuple(Unit(canonical(part)) for part in parts),
            ids=history_ids(history) | ids,
        )

    def _all_items(self, body: Body) -> list[Body]:
        given = body.get("input")
        items = [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else given
        previous = body.get("previous_response_id")
        if previous is None:
            return list(items or ())
        if previous not in self._stored:
            raise Invalid(f"Previous response with id '{previous}' not found.", "previous_response_not_found")
        return [*self._stored[previous], *(items or ())]

    def cache_use(self, model: str, units: Sequence[Unit]) -> CacheUse:
        return self._cache.use_automatically(model, units)

    def answer(self, body: Body, reading: Reading, parts: Sequence[Part], use: CacheUse) -> Answer:
        is_stored = body.get("store", True) is not False
        shows = "reasoning.encrypted_content" in (body.get("include") or ())
        output = [self._item(part, shows) for part in parts]
        response_id = self._new_id("resp")
        self._keep(response_id, body, output, is_stored=is_stored)
        written = tokens(output)
        usage = {
            "input_tokens": use.total,
            "input_tokens_details": {"cached_tokens": use.read},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": use.total + written,
        }
        whole = {**_envelope(response_id, body), "status": "completed", "output": output, "usage": usage}
        if is_stored:
            self.kept[response_id] = whole
        ids = {str(item[key]) for item in output for key in ("id", "call_id") if item.get(key)}
        return Answer(whole, tuple(_events(whole)), frozenset({*ids, text_key(spoken(parts))}))

    def _keep(self, response_id: str, body: Body, output: list[Body], *, is_stored: bool) -> None:
        if is_stored:
            self._stored[response_id] = [*self._all_items(body), *output]
        for before, item in zip([None, *output], output, strict=False):
            if item["type"] == "reasoning":
                self._is_stored[item["id"]] = is_stored
            elif before is not None and before["type"] == "reasoning":
                self._companions[item["id"]] = before["id"]

    def _item(self, part: Part, shows_encrypted: bool) -> Body:
        match part:
            case Text(text):
                content = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
                return {
                    "type": "message",
                    "id": self._new_id("msg"),
                    "role": "assistant",
                    "status": "completed",
                    "content": [content],
                }
            case Thinking(text):
                item_id = self._new_id("rs")
                summary = [{"type": "summary_text", "text": text}]
                hidden = {"encrypted_content": encrypted(item_id)} if shows_encrypted else {}
                return {"type": "reasoning", "id": item_id, "summary": summary, **hidden}
            case Call(name, arguments):
                return {
                    "type": "function_call",
                    "id": self._new_id("fc"),
                    "call_id": self._new_id("call"),
                    "name": name,
                    "arguments": json.dumps(dict(arguments)),
                    "status": "completed",
                }
        assert_never(part)

    def compact(self, body: Body) -> Body:
        """The endpoint /responses/compact: the user's messages, and an opaque item."""
        items = self._all_items(body)
        kept = [item for item in items if item.get("role") == "user"]
        compaction = {"type": "compaction", "id": self._new_id("cmp"), "encrypted_content": "compacted"}
        usage = {"input_tokens": tokens(items), "output_tokens": 10, "total_tokens": tokens(items) + 10}
        return {
            "id": self._new_id("resp"),
            "object": "response.compaction",
            "created_at": int(time.time()),
            "output": [*kept, compaction],
            "usage": usage,
        }

    def error(self, status: int, message: str, code: str | None = None) -> Body:
        return {"error": error_of(status, message, code)}

    def error_event(self, status: int, message: str) -> bytes:
        failed = {
            "type": "error",
            "code": "server_error",
            "message": message,
            "param": None,
            "sequence_number": 0,
        }
        return event("error", failed)


def _functions(tools: Sequence[Body]) -> Iterator[Tool]:
    for tool in tools:
        if tool.get("type") == "function":
            yield Tool(tool["name"], tool.get("parameters") or {})
        elif tool.get("type") == "namespace":
            yield from _functions(tool.get("tools") or ())


def _history(items: Sequence[Body]) -> Iterator[Prompt | ModelTurn]:
    """Items of the model that follow each other are one turn."""
    calls: list[str] = []
    texts: list[str] = []
    for item in [*items, {}]:
        if kind_of(item) in CALLS:
            calls.append(item["call_id"])
        elif item.get("role") == "assistant":
            texts.append(_text_of(item))
        elif kind_of(item) != "reasoning":
            if calls or texts:
                yield ModelTurn(tuple(calls), "".join(texts))
            calls, texts = [], []
            if item.get("role") == "user":
                yield Prompt()


def _text_of(item: Body) -> str:
    content = item.get("content")
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content or ())


def _envelope(response_id: str, body: Body) -> Body:
    echoed = {key: body.get(key) for key in ECHOED}
    echoed |= {"metadata": body.get("metadata") or {}, "tools": body.get("tools") or []}
    echoed |= {"parallel_tool_calls": body.get("parallel_tool_calls", True)}
    echoed |= {"text": body.get("text") or {"format": {"type": "text"}}}
    return {
        **echoed,
        "id": response_id,
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "model": body.get("model"),
        "output": [],
        "error": None,
        "incomplete_details": None,
        "store": body.get("store", True),
        "temperature": 1.0,
        "tool_choice": body.get("tool_choice", "auto"),
        "top_p": 1.0,
        "truncation": body.get("truncation") or "disabled",
        "usage": None,
    }


def _events(response: Body) -> Iterator[bytes]:
    numbers = count()

    def numbered(kind: str, **fields: Any) -> bytes:
        return event(kind, {"type": kind, "sequence_number": next(numbers), **fields})

    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield numbered("response.created", response=begun)
    yield numbered("response.in_progress", response=begun)
    for index, item in enumerate(response["output"]):
        for kind, fields in _item_events(item):
            yield numbered(kind, output_index=index, **fields)
    yield numbered("response.completed", response=response)


def _item_events(item: Body) -> Iterator[tuple[str, Body]]:
    match item["type"]:
        case "message":
            yield from _message_events(item)
        case "reasoning":
            yield from _reasoning_events(item)
        case _:
            yield from _call_events(item)
    yield "response.output_item.done", {"item": item}


def _message_events(item: Body) -> Iterator[tuple[str, Body]]:
    part = item["content"][0]
    at = {"item_id": item["id"], "content_index": 0}
    yield "response.output_item.added", {"item": {**item, "status": "in_progress", "content": []}}
    yield "response.content_part.added", {**at, "part": {**part, "text": ""}}
    for piece in slices(part["text"]):
        yield "response.output_text.delta", {**at, "delta": piece, "logprobs": []}
    yield "response.output_text.done", {**at, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**at, "part": part}


def _reasoning_events(item: Body) -> Iterator[tuple[str, Body]]:
    part = item["summary"][0]
    at = {"item_id": item["id"], "summary_index": 0}
    yield "response.output_item.added", {"item": {**item, "summary": []}}
    yield "response.reasoning_summary_part.added", {**at, "part": {**part, "text": ""}}
    for piece in slices(part["text"]):
        yield "response.reasoning_summary_text.delta", {**at, "delta": piece}
    yield "response.reasoning_summary_text.done", {**at, "text": part["text"]}
    yield "response.reasoning_summary_part.done", {**at, "part": part}


def _call_events(item: Body) -> Iterator[tuple[str, Body]]:
    at = {"item_id": item["id"]}
    yield "response.output_item.added", {"item": {**item, "arguments": "", "status": "in_progress"}}
    for piece in slices(item["arguments"]):
        yield "response.function_call_arguments.delta", {**at, "delta": piece}
    yield (
        "response.function_call_arguments.done",
        {**at, "name": item["name"], "arguments": item["arguments"]},
    )
