"""The OpenAI Chat Completions API."""

import json
import time
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from tests.proxy.upstream.api import Answer, Body, Invalid, Reading
from tests.proxy.upstream.canonical import canonical, tokens
from tests.proxy.upstream.event_pieces import data_only, slices
from tests.proxy.upstream.identifiers import Identifiers
from tests.proxy.upstream.places import ModelTurn, Prompt, history_ids, place_of, text_key
from tests.proxy.upstream.prefix_cache import CacheUse, PrefixCache, Unit
from tests.proxy.upstream.script import Call, Part, Tool, spoken

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
DONE = b"data: [DONE]\n\n"


class ChatApi:
    """State: the prompt cache."""

    def __init__(self, identifiers: Identifiers) -> None:
        self._new_id = identifiers.new
        self._cache = PrefixCache()

    def read(self, body: Body, headers: dict[str, str], issued: Collection[str]) -> Reading:
        _check(body)
        messages = body["messages"]
        history = list(_history(messages))
        offered = [tool["function"] for tool in body.get("tools") or () if tool.get("type") == "function"]
        return Reading(
            place=place_of(history, issued),
            tools=tuple(Tool(tool["name"], tool.get("parameters") or {}) for tool in offered),
            units=tuple(Unit(canonical(part)) for part in [*(body.get("tools") or ()), *messages]),
            ids=history_ids(history),
        )

    def cache_use(self, model: str, units: Sequence[Unit]) -> CacheUse:
        return self._cache.use_automatically(model, units)

    def answer(self, body: Body, reading: Reading, parts: Sequence[Part], use: CacheUse) -> Answer:
        calls = [self._call(part) for part in parts if isinstance(part, Call)]
        message: Body = {"role": "assistant", "content": spoken(parts) or None, "refusal": None}
        if calls:
            message["tool_calls"] = calls
        output = tokens(message)
        usage = {
            "prompt_tokens": use.total,
            "completion_tokens": output,
            "total_tokens": use.total + output,
            "prompt_tokens_details": {"cached_tokens": use.read},
        }
        head = {
            "id": self._new_id("chatcmpl"),
            "created": int(time.time()),
            "model": body.get("model"),
            "system_fingerprint": "fp_stand_in",
        }
        choice = {"index": 0, "message": message, "finish_reason": _finish(message), "logprobs": None}
        whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        events = _events({**head, "object": "chat.completion.chunk"}, message, usage, _wants_usage(body))
        return Answer(
            whole, tuple(events), frozenset({text_key(spoken(parts)), *(call["id"] for call in calls)})
        )

    def _call(self, part: Call) -> Body:
        function = {"name": part.name, "arguments": json.dumps(dict(part.arguments))}
        return {"id": self._new_id("call"), "type": "function", "function": function}

    def error(self, status: int, message: str, code: str | None = None) -> Body:
        return {"error": error_of(status, message, code)}

    def error_event(self, status: int, message: str) -> bytes:
        return data_only(self.error(status, message))


def error_of(status: int, message: str, code: str | None = None) -> Body:
    """The error object of both APIs of OpenAI."""
    kind = "invalid_request_error" if status == 400 else "server_error"
    return {"message": message, "type": kind, "param": None, "code": code}


def _wants_usage(body: Body) -> bool:
    return bool((body.get("stream_options") or {}).get("include_usage"))


def _finish(message: Body) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def _events(head: Body, message: Body, usage: Body, wants_usage: bool) -> Iterator[bytes]:
    def chunk(delta: Body, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return data_only({**head, "choices": [choice], **({"usage": None} if wants_usage else {})})

    calls = message.get("tool_calls", [])
    yield chunk({"role": "assistant", "content": None if calls and not message["content"] else ""})
    for piece in slices(message["content"]) if message["content"] else ():
        yield chunk({"content": piece})
    for index, call in enumerate(calls):
        started = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        yield chunk({"tool_calls": [started]})
        for piece in slices(call["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, _finish(message))
    if wants_usage:
        yield data_only({**head, "choices": [], "usage": usage})
    yield DONE


def _history(messages: Sequence[Body]) -> Iterator[Prompt | ModelTurn]:
    for message in messages:
        if message["role"] == "user":
            yield Prompt()
        elif message["role"] == "assistant":
            calls = tuple(call["id"] for call in message.get("tool_calls") or ())
            yield ModelTurn(calls, str(message.get("content") or ""))


def _check(body: Body) -> None:
    messages = body.get("messages")
    if not messages:
        raise Invalid("Invalid 'messages': empty array. Expected an array with minimum length 1.")
    names = [tool["function"]["name"] for tool in body.get("tools") or () if tool.get("type") == "function"]
    if len(names) != len(set(names)):
        raise Invalid("Invalid 'tools': tool names must be unique.")
    if "tools" in body and not body["tools"]:
        raise Invalid("Invalid 'tools': empty array. Expected an array with minimum length 1.")
    pending: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        pending = _check_message(number, message, pending, seen)
    _check_answered(pending)


def _check_message(number: int, message: Body, pending: list[str], seen: set[str]) -> list[str]:
    """Check one message; the calls that still need a result."""
    if message.get("role") not in ROLES:
        raise Invalid(f"Invalid value: '{message.get('role')}'. (messages[{number}].role)")
    if message["role"] == "tool":
        if message.get("tool_call_id") not in pending:
            raise Invalid(
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
                "message with "
                f"'tool_calls'. (messages.[{number}].role)"
            )
        return [call for call in pending if call != message["tool_call_id"]]
    _check_answered(pending)
    calls = message.get("tool_calls")
    if calls is not None:
        _check_calls(number, calls, seen)
    if message.get("content") is None and not calls and not message.get("function_call"):
        raise Invalid(
            f"Invalid value for 'content': expected a string, got null. (messages.[{number}].content)"
        )
    return [call["id"] for call in calls or ()]


def _check_calls(number: int, calls: list[dict[str, Any]], seen: set[str]) -> None:
    if not calls:
        raise Invalid(f"Invalid 'messages[{number}].tool_calls': empty array.")
    for call in calls:
        if call["id"] in seen:
            raise Invalid(f"Duplicate value for 'tool_call_id' of '{call['id']}'")
        if "index" in call or not isinstance(call["function"]["arguments"], str):
            raise Invalid(f"Invalid 'messages[{number}].tool_calls': unexpected fields.")
        seen.add(call["id"])


def _check_answered(pending: Sequence[str]) -> None:
    if pending:
        raise Invalid(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(pending)
        )
