"""Streams of the Chat Completions API, written by hand, and a client that reads them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mnemic.proxy.chat.api import ChatApi
from mnemic.proxy.protocol import Body, Changes, Exchange, HiddenTool, Round, ServerSentEvent

TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
MEMORY = HiddenTool("memory_query", "Ask the memory.", {"type": "object", "properties": {}})
RECALL = HiddenTool("recall", "Recall memories.", {"type": "object", "properties": {}})
HIDDEN = frozenset({"memory_query", "recall"})
DONE = ServerSentEvent("", b"[DONE]", b"data: [DONE]\n\n")


def request(messages: Sequence[Body], **fields: Any) -> Body:
    """A request with one tool."""
    return {"model": "gpt-4.1", "messages": list(messages), "tools": [TOOL], "stream": True, **fields}


def user(text: str) -> Body:
    """A message of the user."""
    return {"role": "user", "content": text}


def call(call_id: str, name: str = "read", arguments: str = '{"path": "a.py"}') -> Body:
    """A call of a tool."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def event(value: Any) -> ServerSentEvent:
    """An event as a provider sends it: not as compact as the proxy would write it."""
    data = json.dumps(value).encode()
    return ServerSentEvent("", data, b"data: " + data + b"\n\n")


def chunk(delta: Body, finish: str | None = None, *, chunk_id: str = "chatcmpl-1", **fields: Any) -> Body:
    """A chunk with one choice."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return {"id": chunk_id, "object": "chat.completion.chunk", "created": 7, "choices": [choice], **fields}


def stream(
    text: str = "",
    calls: Sequence[Body] = (),
    *,
    chunk_id: str = "chatcmpl-1",
    size: int = 3,
    usage: Body | None = None,
    finish: str | None = None,
) -> list[ServerSentEvent]:
    """A whole response; text and arguments are split into pieces of `size` characters."""
    deltas: list[Body] = [{"role": "assistant", "content": "" if text else None}]
    deltas += [{"content": piece} for piece in pieces(text, size)]
    for index, one in enumerate(calls):
        function = {**one["function"], "arguments": ""}
        deltas.append({"tool_calls": [{**one, "index": index, "function": function}]})
        for piece in pieces(one["function"]["arguments"], size):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    events = [event(chunk(delta, chunk_id=chunk_id)) for delta in deltas]
    finish = finish or ("tool_calls" if calls else "stop")
    events.append(event(chunk({}, finish, chunk_id=chunk_id)))
    if usage is not None:
        events.append(event({"id": chunk_id, "created": 7, "choices": [], "usage": usage}))
    return [*events, DONE]


def whole(text: str | None, calls: Sequence[Body] = (), *, body_id: str = "chatcmpl-1") -> Body:
    """A response that is not streamed."""
    message: Body = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
    if calls:
        message["tool_calls"] = list(calls)
    finish = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"id": body_id, "created": 7, "choices": [choice], "usage": usage}


def pieces(text: str, size: int) -> list[str]:
    """A text in pieces."""
    return [text[start : start + size] for start in range(0, len(text), size)]


@dataclass
class Seen:
    """What a client has after a turn."""

    raw: bytes = b""
    chunks: list[Body] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    sent: list[Body] = field(default_factory=list)
    exchange: Exchange | None = None

    @property
    def message(self) -> Body:
        """The message that a client puts into its transcript."""
        text = ""
        calls: dict[int, Body] = {}
        for one in self.chunks:
            for choice in one["choices"]:
                delta = choice["delta"]
                text += delta.get("content") or ""
                for piece in delta.get("tool_calls") or []:
                    _add_piece(calls, piece)
        message: Body = {"role": "assistant", "content": text or None}
        return {**message, "tool_calls": [calls[index] for index in sorted(calls)]} if calls else message

    @property
    def finish_reasons(self) -> list[str]:
        """Every finish reason that came."""
        return [c["finish_reason"] for one in self.chunks for c in one["choices"] if c["finish_reason"]]


def take_turn(
    body: Body,
    responses: Iterable[Sequence[ServerSentEvent]],
    *,
    exchanges: Mapping[str, Exchange] | None = None,
    rounds_max: int = 8,
    changes: Changes | None = None,
) -> Seen:
    """One request of a client: hidden calls are answered until the turn ends, or `rounds_max` is reached."""
    api, seen = ChatApi(), Seen()
    changes = changes or Changes(exchanges=exchanges or {}, tools=(MEMORY, RECALL))
    sent = api.rewrite(body, changes)
    relay = api.relay(sent, HIDDEN)
    raw = []
    for number, events in enumerate(responses, 1):
        check_pairs(sent["messages"])
        seen.sent.append(sent)
        raw += [relay.feed(one) for one in events]
        ended = relay.end_round()
        seen.rounds.append(ended)
        results = {one.id: f"memory of {one.id}" for one in ended.hidden}
        if results and not ended.calls_client and number < rounds_max:
            sent = relay.continued(results)
            continue
        seen.exchange = relay.exchange(results if ended.calls_client else {})
        raw.append(relay.finish())
        break
    seen.raw = b"".join(raw)
    seen.chunks = chunks_of(seen.raw)
    return seen


def chunks_of(raw: bytes) -> list[Body]:
    """The chunks of a stream; it ends with exactly one mark of the end, if it has any."""
    lines = [line[6:] for line in raw.split(b"\n\n") if line.startswith(b"data: ")]
    assert lines.count(b"[DONE]") <= 1
    assert b"[DONE]" not in lines[:-1]
    return [json.loads(line) for line in lines if line != b"[DONE]"]


def check_pairs(messages: Sequence[Body]) -> None:
    """What OpenAI checks: every call is answered before the next message, and ids are unique."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, f"not answered: {waiting}"
        ids = [one["id"] for one in message.get("tool_calls") or []]
        assert not seen.intersection(ids)
        assert len(set(ids)) == len(ids)
        assert ids or message["content"], f"an empty message: {message}"
        seen.update(ids)
        waiting = ids
    assert not waiting, f"not answered: {waiting}"


def _add_piece(calls: dict[int, Body], piece: Body) -> None:
    function = piece.get("function") or {}
    one = calls.setdefault(
        piece["index"], {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
    )
    one["id"] = one["id"] or piece.get("id") or ""
    one["function"]["name"] += function.get("name") or ""
    one["function"]["arguments"] += function.get("arguments") or ""
