"""Turns the provider's responses to one turn into one response for the client.

Events pass as the bytes that they came as, with three exceptions: calls of hidden tools are left out, blocks
after them are renumbered, and the end of a response is held back until it is known whether another round
follows. The client sees one `message_start`, that of the first response.

Usage: clients take the input tokens of a response as the size of their context, and compact when it is full.
So they get those of the last round; the sum over rounds would count the same prompt several times. Output
tokens are summed, because the client has the text of all rounds.
"""

from collections.abc import Mapping
from typing import Any

from mnemic.proxy.anthropic.errors import error_event
from mnemic.proxy.anthropic.response import Response
from mnemic.proxy.anthropic.turns import place_after, shown_turn, turn_of
from mnemic.proxy.beginning import ShownTurn
from mnemic.proxy.json_text import dump_json, event_bytes, load_json
from mnemic.proxy.protocol import CAPPED, Body, Exchange, Round, ServerSentEvent

ENDS = frozenset({"message_delta", "message_stop"})


class AnthropicRelay:
    """The response to one request of the client."""

    def __init__(self, body: Body, hidden: frozenset[str]) -> None:
        self._body = body
        self._hidden = hidden
        self._given = body
        self._response = Response(hidden)
        self._ended: list[Response] = []
        self._chain: list[Body] = []
        """Messages of this turn that the provider has and the client does not."""
        self._shown = 0
        """Blocks that the client has seen of this turn."""
        self._numbers: dict[int, int] = {}
        self._held: list[tuple[ServerSentEvent, Body]] = []
        """The end of the response, from `message_delta` on."""
        self._is_whole = False
        self._raw = b""

    def feed(self, event: ServerSentEvent) -> bytes:
        """What the client sees of an event."""
        data = _data(event)
        match data.get("type"):
            case "message_start":
                return self._start(event, data)
            case "content_block_start" | "content_block_delta" | "content_block_stop":
                return self._block(event, data)
            case "message_delta":
                self._response.end(data)
            case "message_stop":
                self._response.is_complete = True
            case _ if not self._held:
                return event.raw
        self._held.append((event, data))
        return b""

    def whole(self, body: Body, raw: bytes = b"") -> None:
        """Take a response that was not streamed, and the bytes that it came as."""
        self._response.take(body)
        self._is_whole = True
        self._raw = raw

    def end_round(self) -> Round:
        """After the last event of a response."""
        response = self._response
        self._ended.append(response)
        return Round(
            hidden=response.hidden_calls,
            calls_client=bool(response.client_calls),
            text=response.text,
            client_calls=response.client_calls,
            prompt_tokens=response.prompt_tokens,
            cached_tokens=response.cached_tokens,
            output_tokens=response.output_tokens,
            is_complete=response.is_complete,
        )

    def continued(self, results: Mapping[str, str]) -> Body:
        """The body of the next request."""
        added = [
            {"role": "assistant", "content": self._response.content},
            {"role": "user", "content": self._results(results)},
        ]
        self._chain += added
        self._body = {**self._body, "messages": [*self._body["messages"], *added]}
        self._response = Response(self._hidden)
        self._numbers = {}
        self._held = [held for held in self._held if held[1].get("type") not in ENDS]
        return self._body

    def exchange(self, results: Mapping[str, str]) -> Exchange | None:
        """What to store before the client sees the end."""
        content = self._response.content
        if not self._chain and not self._response.hidden_calls:
            return None
        # Only now: it takes a walk over the whole transcript, which few turns need.
        key = place_after(self._given, self._hidden).key_of(turn_of(self._visible()))
        if not key:
            return None
        if not content:
            # The last response was empty: the turn ends with the results of hidden calls.
            return Exchange(key, self._chain[:-1], self._chain[-1]["content"])
        last = {"role": "assistant", "content": content}
        return Exchange(key, [*self._chain, last], self._results(results))

    def shown(self) -> ShownTurn:
        """The turn as the client will send it back."""
        return shown_turn(turn_of(self._visible()))

    def finish(self) -> bytes:
        """The end of the stream; for a response that was not streamed, its body."""
        if self._is_whole:
            return self._whole()
        end = (self._end_event(event, data) for event, data in self._held)
        return self._note_events() + b"".join(end)

    def fail(self, status: int, body: bytes) -> bytes:
        """An error of the provider after the stream began."""
        return error_event(status, body)

    def _visible(self) -> list[Any]:
        """The blocks that the client sees."""
        visible = [block for response in self._ended for block in response.visible]
        if note := self._note():
            visible.append({"type": "text", "text": note})
        return visible

    def _start(self, event: ServerSentEvent, data: Body) -> bytes:
        message = data.get("message")
        self._response.start(message if isinstance(message, dict) else {})
        return b"" if self._chain else event.raw

    def _block(self, event: ServerSentEvent, data: Body) -> bytes:
        index = data.get("index")
        if not isinstance(index, int):
            return event.raw
        self._assemble(index, data)
        if self._response.is_hidden(index):
            return b""
        number = self._number(index)
        if number == index:
            return event.raw
        return event_bytes({**data, "index": number}, name=event.name)

    def _assemble(self, index: int, data: Body) -> None:
        match data["type"]:
            case "content_block_start":
                self._response.start_block(index, data.get("content_block") or {})
            case "content_block_delta":
                self._response.add(index, data.get("delta") or {})
            case "content_block_stop":
                self._response.end_block(index)

    def _number(self, index: int) -> int:
        """The number of a block for the client."""
        if index not in self._numbers:
            self._numbers[index] = self._shown
            self._shown += 1
        return self._numbers[index]

    def _results(self, results: Mapping[str, str]) -> list[Body]:
        """Results of the hidden calls of the last response. Each call needs one."""
        return [
            {"type": "tool_result", "tool_use_id": call.id, "content": results.get(call.id) or "(no answer)"}
            for call in self._response.hidden_calls
        ]

    def _is_capped(self) -> bool:
        """Whether the turn ends although its last response asks for nothing but the memory."""
        return bool(self._response.hidden_calls) and not self._response.client_calls

    def _note(self) -> str:
        """What to show of a capped turn without any text."""
        has_text = any(response.text.strip() for response in self._ended)
        return CAPPED if self._is_capped() and not has_text else ""

    def _note_events(self) -> bytes:
        if not self._note():
            return b""
        number = self._shown
        events: tuple[Body, ...] = (
            {"type": "content_block_start", "index": number, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": number, "delta": {"type": "text_delta", "text": CAPPED}},
            {"type": "content_block_stop", "index": number},
        )
        return b"".join(event_bytes(data, name=data["type"]) for data in events)

    def _end_event(self, event: ServerSentEvent, data: Body) -> bytes:
        if data.get("type") != "message_delta" or not self._is_changed():
            return event.raw
        changed = {**data, "delta": {**self._response.stop, **self._stop()}, "usage": self._usage()}
        return event_bytes(changed, name=event.name)

    def _is_changed(self) -> bool:
        return bool(self._chain) or self._is_capped()

    def _stop(self) -> Body:
        """Why the turn ended, for the client."""
        is_call = self._response.stop.get("stop_reason") == "tool_use"
        return {"stop_reason": "end_turn"} if is_call and self._is_capped() else {}

    def _usage(self) -> Body:
        output_tokens = sum(response.output_tokens for response in self._ended)
        return {**self._response.usage, "output_tokens": output_tokens}

    def _whole(self) -> bytes:
        if not self._is_changed() and not self._response.hidden_calls and self._raw:
            return self._raw
        stop = {**self._response.stop, **self._stop()}
        changed = {"content": self._visible(), **stop, "usage": self._usage()}
        return dump_json(_in_order(self._ended[0].message, self._response.message, changed))


def _in_order(first: Body, last: Body, changed: Body) -> Body:
    """The message of the last response, under the id of the first, with other values."""
    return {**last, "id": first.get("id"), **changed}


def _data(event: ServerSentEvent) -> Body:
    if not event.data:
        return {}
    try:
        data = load_json(event.data)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
