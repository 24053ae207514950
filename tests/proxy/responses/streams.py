"""Streams of the Responses API, written by hand, and a client that reads them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mnemic.proxy.protocol import Body, Changes, Exchange, HiddenTool, Round, ServerSentEvent
from mnemic.proxy.responses.api import ResponsesApi

TOOL = {"type": "function", "name": "read", "parameters": {"type": "object"}, "strict": False}
MEMORY = HiddenTool("memory_query", "Ask the memory.", {"type": "object", "properties": {}})
RECALL = HiddenTool("recall", "Recall memories.", {"type": "object", "properties": {}})
HIDDEN = frozenset({"memory_query", "recall"})


def request(items: Sequence[Body] | str, **fields: Any) -> Body:
    """A request with one tool, of a client that stores nothing at the provider."""
    body = {"model": "gpt-5", "input": items, "tools": [TOOL], "stream": True, "store": False, **fields}
    return {name: value for name, value in body.items() if value is not None}


def user(text: str) -> Body:
    """A message of the user."""
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def said(text: str, item_id: str = "msg_1") -> Body:
    """A message of the assistant."""
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"type": "message", "id": item_id, "role": "assistant", "status": "completed"}
    return {**message, "content": [part]}


def reasoned(item_id: str = "rs_1", *, encrypted: bool = True) -> Body:
    """Reasoning, encrypted for clients that store nothing at the provider."""
    item: Body = {"type": "reasoning", "id": item_id, "summary": [{"type": "summary_text", "text": "Hm."}]}
    return {**item, "encrypted_content": f"enc-{item_id}"} if encrypted else item


def call(call_id: str, name: str = "read", arguments: str = '{"path":"a.py"}') -> Body:
    """A call of a tool."""
    function = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id}
    return {**function, "name": name, "arguments": arguments, "status": "completed"}


def output(call_id: str, text: Any = "x") -> Body:
    """The output of a call."""
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def response(
    items: Sequence[Body], response_id: str = "resp_1", *, body: Body, status: str = "completed"
) -> Body:
    """A response object; it repeats the tools of the request."""
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 64},
        "output_tokens": 10,
        "total_tokens": 110,
    }
    return {
        "id": response_id,
        "object": "response",
        "created_at": 7,
        "status": status,
        "output": list(items),
        "tools": body["tools"],
        "store": body.get("store", True),
        "usage": usage,
    }


def event(kind: str, **fields: Any) -> ServerSentEvent:
    """An event as a provider sends it: not as compact as the proxy would write it."""
    data = json.dumps({"type": kind, **fields}).encode()
    return ServerSentEvent(kind, data, f"event: {kind}\ndata: ".encode() + data + b"\n\n")


def stream(
    items: Sequence[Body],
    response_id: str = "resp_1",
    *,
    body: Body,
    size: int = 3,
    status: str = "completed",
    fills_output: bool = True,
) -> list[ServerSentEvent]:
    """A whole response; texts are split into pieces of `size` characters."""
    begun = {**response([], response_id, body=body, status="in_progress"), "usage": None}
    made: list[tuple[str, Body]] = [("response.created", {"response": begun})]
    made.append(("response.in_progress", {"response": begun}))
    for index, item in enumerate(items):
        made += [(kind, {"output_index": index, **fields}) for kind, fields in _item_events(item, size)]
    ended = response(items if fills_output else [], response_id, body=body, status=status)
    made.append((f"response.{status}", {"response": ended}))
    return [event(kind, sequence_number=number, **fields) for number, (kind, fields) in enumerate(made)]


def _item_events(item: Body, size: int) -> list[tuple[str, Body]]:
    begun = {**item, "status": "in_progress"}
    events: list[tuple[str, Body]] = []
    if item["type"] == "function_call":
        begun["arguments"] = ""
        deltas = pieces(item["arguments"], size)
        kind = "response.function_call_arguments.delta"
    elif item["type"] == "message":
        begun["content"] = []
        deltas = pieces(item["content"][0]["text"], size)
        kind = "response.output_text.delta"
    else:
        deltas, kind = [], ""
    events.append(("response.output_item.added", {"item": begun}))
    events += [(kind, {"item_id": item["id"], "delta": delta}) for delta in deltas]
    return [*events, ("response.output_item.done", {"item": item})]


def pieces(text: str, size: int) -> list[str]:
    """A text in pieces."""
    return [text[start : start + size] for start in range(0, len(text), size)]


@dataclass
class Seen:
    """What a client has after a turn."""

    raw: bytes = b""
    events: list[Body] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    sent: list[Body] = field(default_factory=list)
    exchange: Exchange | None = None

    @property
    def items(self) -> list[Body]:
        """The items of the response, which a client puts into its transcript."""
        return [one["item"] for one in self.events if one["type"] == "response.output_item.done"]

    @property
    def end(self) -> Body:
        """The last event."""
        return self.events[-1]


def take_turn(
    body: Body,
    replies: Iterable[Sequence[Body]],
    *,
    changes: Changes | None = None,
    exchanges: Mapping[str, Exchange] | None = None,
    rounds_max: int = 8,
    size: int = 3,
    ids: Sequence[str] = ("resp_1", "resp_2", "resp_3", "resp_4", "resp_5"),
    held: Sequence[Body] = (),
) -> Seen:
    """One request of a client: hidden calls are answered until the turn ends, or `rounds_max` is reached.

    `held` is what the provider has stored of the conversation.
    """
    api, seen = ResponsesApi(), Seen()
    changes = changes or Changes(exchanges=exchanges or {}, tools=(MEMORY, RECALL))
    sent = api.rewrite(body, changes)
    relay = api.relay(sent, HIDDEN)
    raw = []
    for number, items in enumerate(replies, 1):
        check_items([*held, *input_of(sent)])
        seen.sent.append(sent)
        raw += [relay.feed(one) for one in stream(items, ids[number - 1], body=sent, size=size)]
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
    seen.events = events_of(seen.raw)
    return seen


def input_of(body: Body) -> list[Body]:
    """The items of a request."""
    return [user(body["input"])] if isinstance(body["input"], str) else body["input"]


def events_of(raw: bytes) -> list[Body]:
    """The events of a stream; their names fit their types, and their numbers have no gaps."""
    events = []
    for block in raw.split(b"\n\n")[:-1]:
        name, data = block.split(b"\n")
        events.append(json.loads(data.removeprefix(b"data: ")))
        assert name.decode() == f"event: {events[-1]['type']}"
    assert [one["sequence_number"] for one in events] == list(range(len(events)))
    return events


def check_items(items: Sequence[Body]) -> None:
    """What OpenAI checks: pairs of calls and outputs, and reasoning with its following item."""
    calls = [one["call_id"] for one in items if one.get("type") == "function_call"]
    outputs = [one["call_id"] for one in items if one.get("type") == "function_call_output"]
    assert len(set(calls)) == len(calls)
    assert sorted(calls) == sorted(outputs)
    ids = [one["id"] for one in items if one.get("id")]
    assert len(set(ids)) == len(ids)
    for item, following in zip(items, [*items[1:], {}], strict=True):
        if item.get("type") == "reasoning":
            is_made = following.get("type") in ("function_call", "reasoning", "custom_tool_call")
            assert is_made or following.get("role") == "assistant", f"reasoning without its item: {item}"
        if item.get("type") == "function_call_output":
            assert item["call_id"] in calls[: len(calls)]
