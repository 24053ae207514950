"""The response to a Responses request, over one or more responses of the provider.

The client sees one response: the id of the first, items numbered from 0, `sequence_number` without gaps, and
only its own tools. Events that need no change are passed on as the bytes that they came as. The event that
ends a response waits until `finish`: only then it is known whether the turn goes on.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from mnemic.proxy.beginning import ShownTurn
from mnemic.proxy.chat.messages import NOT_ANSWERED
from mnemic.proxy.json_text import dump_json, event_bytes, load_json
from mnemic.proxy.openai_errors import provider_error
from mnemic.proxy.protocol import CAPPED, Body, Exchange, HiddenCall, Round, ServerSentEvent
from mnemic.proxy.responses.items import (
    arguments_of,
    assistant_text,
    call_output,
    follow,
    is_hidden_call,
    is_made_by_model,
    is_opening,
    items_of,
    name_of,
    shown_turn,
)
from mnemic.proxy.responses.message_events import message_events, message_item
from mnemic.proxy.responses.response import Response, as_input, without_calls
from mnemic.proxy.responses.stored import shown_tools
from mnemic.proxy.responses.turns import key_of_turn
from mnemic.proxy.turn_keys import Answered, response_key

ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})


class ResponsesRelay:
    """See `mnemic.proxy.protocol.Relay`."""

    def __init__(self, body: Body, hidden: frozenset[str], *, previous_id: str = "") -> None:
        self._body = body
        self._previous_id = previous_id
        self._hidden = hidden
        self._given = items_of(body)
        self._now = Response(hidden)
        self._earlier: list[Response] = []
        self._turns: list[Body] = []
        """Items of earlier responses, with the outputs of their hidden calls."""
        self._first: Body = {}
        """Id and time of the first response, which the client sees in all events."""
        self._sequence: int | None = None
        self._shown_count = 0
        self._raw = b""

    def feed(self, event: ServerSentEvent) -> bytes:
        """What the client sees of an event."""
        data = _object_of(event.data)
        if data is None:
            return event.raw
        kind = str(data.get("type") or event.name)
        if kind == "error":
            self._now.failed = True
        if kind in ENDS:
            return self._hold_end(event, data, kind)
        if isinstance(data.get("response"), dict):
            return self._feed_start(event, data)
        if isinstance(data.get("output_index"), int):
            return self._feed_item(event, data, kind)
        return self._numbered(event, data, is_changed=False)

    def whole(self, body: Body, raw: bytes = b"") -> None:
        """Take a response that was not streamed."""
        self._raw = raw
        self._now.body = body
        self._now.failed = not isinstance(body.get("output"), list) or body.get("status") == "failed"
        self._see_response(body)

    def end_round(self) -> Round:
        """The response of the provider that just ended."""
        now = self._now
        hidden = () if now.is_cut else now.hidden()
        usage = now.usage
        details = usage.get("input_tokens_details") or {}
        return Round(
            hidden=tuple(HiddenCall(_call_id(item), name_of(item), arguments_of(item)) for item in hidden),
            calls_client=now.asks_client(),
            text=assistant_text(now.items()),
            client_calls=tuple(
                (_call_id(item), name_of(item), arguments_of(item)) for item in now.client_calls()
            ),
            prompt_tokens=usage.get("input_tokens") or 0,
            cached_tokens=details.get("cached_tokens") or 0,
            output_tokens=usage.get("output_tokens") or 0,
            is_complete=now.is_ended,
            response_id=str(self._first["id"]) if self._is_stored() else "",
        )

    def continued(self, results: Mapping[str, str]) -> Body:
        """The next request: the last one, the items of the response, and the outputs of its calls."""
        turn = self._input_of(self._now.items())
        turn += [call_output(_call_id(item), results[_call_id(item)]) for item in self._now.hidden()]
        self._turns += turn
        self._body = {**self._body, "input": [*items_of(self._body), *turn]}
        self._earlier.append(self._now)
        self._now = Response(self._hidden)
        return self._body

    def exchange(self, results: Mapping[str, str]) -> Exchange | None:
        """The turn as the provider has it; None if the client has the same.

        Without items if the turn is the same, but the next request may hold only its id.
        """
        now = self._now
        hidden = now.hidden()
        is_changed = bool(self._turns or hidden)
        if not now.is_ended or not (is_changed or self._may_be_continued()):
            return None
        cut = hidden if now.is_cut else []
        return Exchange(
            key=self._key(self._all_shown()),
            items=[*self._turns, *self._input_of(without_calls(now.items(), cut))] if is_changed else [],
            results=[
                call_output(_call_id(item), results.get(_call_id(item), NOT_ANSWERED)) for item in hidden
            ],
            response_ids={str(self._first.get("id")): now.response_id} if self._is_stored() else {},
        )

    def shown(self) -> ShownTurn:
        """The turn as the client will send it back."""
        return shown_turn(self._all_shown())

    def finish(self) -> bytes:
        """The held end of the stream; for a response that was not streamed, its body."""
        now = self._now
        if now.end is not None:
            note = self._note_events()
            shown = self._shown_response(now.end_data["response"])
            is_changed = shown != now.end_data["response"]
            end = {**now.end_data, "response": shown}
            return note + self._numbered(now.end, end, is_changed=is_changed)
        if now.body is None:
            return b""
        shown = self._shown_response(now.body)
        return self._raw if self._raw and shown == now.body else dump_json(shown)

    def fail(self, status: int, body: bytes) -> bytes:
        """An error of the provider after the stream began: SDKs raise the first event, codex the second."""
        error = provider_error(status, body)["error"]
        cause = {"code": error.get("code") or error.get("type"), "message": error.get("message")}
        event = {"type": "error", **cause, "param": error.get("param"), "error": error}
        response = {**self._first, "object": "response", "status": "failed", "error": cause, "output": []}
        failed = {"type": "response.failed", "response": response}
        return self._made(event) + self._made(failed)

    def _all_shown(self) -> list[Body]:
        """The items that the client sees."""
        items = [item for response in (*self._earlier, self._now) for item in response.shown()]
        return [*items, *self._note()]

    def _note(self) -> list[Body]:
        """What to show of a turn that ends although its last response asks for nothing but the memory."""
        now = self._now
        is_capped = now.is_ended and not now.is_cut and now.hidden() and not now.asks_client()
        shown = [item for response in (*self._earlier, now) for item in response.shown()]
        return (
            [message_item(CAPPED, f"msg_{self._first.get('id')}")]
            if is_capped and not assistant_text(shown)
            else []
        )

    def _note_events(self) -> bytes:
        index = self._shown_count
        return b"".join(
            self._made({**event, "output_index": index})
            for item in self._note()
            for event in message_events(item)
        )

    def _hold_end(self, event: ServerSentEvent, data: Body, kind: str) -> bytes:
        now = self._now
        response = data.get("response")
        now.failed = now.failed or kind == "response.failed" or not isinstance(response, dict)
        if not isinstance(response, dict):
            return event.raw
        self._see_response(response)
        now.end, now.end_data, now.body = event, data, response
        return b""

    def _feed_start(self, event: ServerSentEvent, data: Body) -> bytes:
        """An event about the response as a whole, at its start."""
        self._see_response(data["response"])
        if self._earlier:
            return b""
        shown = self._shown_response(data["response"])
        is_changed = shown != data["response"]
        return self._numbered(event, {**data, "response": shown}, is_changed=is_changed)

    def _feed_item(self, event: ServerSentEvent, data: Body, kind: str) -> bytes:
        """An event about one item."""
        now, index = self._now, data["output_index"]
        item = data.get("item")
        if isinstance(item, dict):
            self._see_item(index, item, is_done=kind == "response.output_item.done")
        if index in now.hidden_indexes:
            return b""
        shown = self._shown_index(index)
        return self._numbered(event, {**data, "output_index": shown}, is_changed=shown != index)

    def _see_item(self, index: int, item: Body, *, is_done: bool) -> None:
        if _is_hidden(item, self._now):
            self._now.hidden_indexes.add(index)
        if is_done:
            self._now.done[index] = item

    def _shown_index(self, index: int) -> int:
        shown = self._now.shown_indexes
        if index not in shown:
            shown[index] = self._shown_count
            self._shown_count += 1
        return shown[index]

    def _see_response(self, response: Body) -> None:
        self._now.response_id = str(response.get("id") or "")
        if not self._first:
            self._first = {name: response[name] for name in ("id", "created_at") if name in response}

    def _numbered(self, event: ServerSentEvent, data: Body, *, is_changed: bool) -> bytes:
        """An event with the next number; the bytes that it came as if nothing changed."""
        number = data.get("sequence_number")
        if isinstance(number, int):
            expected = number if self._sequence is None else self._sequence
            self._sequence = expected + 1
            if number != expected:
                data, is_changed = {**data, "sequence_number": expected}, True
        return event_bytes(data, name=event.name) if is_changed else event.raw

    def _made(self, data: Body) -> bytes:
        """An event of the proxy itself."""
        number = self._sequence or 0
        self._sequence = number + 1
        return event_bytes({**data, "sequence_number": number}, name=data["type"])

    def _shown_response(self, response: Body) -> Body:
        """The response object as the client sees it."""
        shown = {**response, **{name: self._first[name] for name in self._first if name in response}}
        if self._previous_id and response.get("previous_response_id"):
            shown["previous_response_id"] = self._previous_id
        if isinstance(response.get("tools"), list):
            shown["tools"] = shown_tools(response["tools"], self._hidden)
        if response.get("output"):
            before = [item for earlier in self._earlier for item in earlier.shown()]
            shown["output"] = [
                *before,
                *(item for item in response["output"] if not _is_hidden(item, self._now)),
                *self._note(),
            ]
        if self._earlier and isinstance(response.get("usage"), dict):
            shown["usage"] = self._usage(response["usage"])
        return shown

    def _usage(self, usage: Body) -> Body:
        """Usage of the last response, with the output of all: its input is what the window holds."""
        output = sum(earlier.usage.get("output_tokens") or 0 for earlier in self._earlier)
        summed = {name: (usage.get(name) or 0) + output for name in ("output_tokens", "total_tokens")}
        return {**usage, **summed}

    def _is_stored(self) -> bool:
        """Whether the provider keeps the response; it says so itself, if it has the field."""
        asked = self._body.get("store")
        kept = (self._now.body or {}).get("store")
        is_kept = (True if asked is None else bool(asked)) if kept is None else bool(kept)
        return is_kept and bool(self._first.get("id"))

    def _input_of(self, items: list[Body]) -> list[Body]:
        return as_input(items, is_stored=self._is_stored())

    def _key(self, shown: Iterable[Body]) -> str:
        """Key of the turn: a stored one is found by its id, also by requests that hold nothing else."""
        if self._is_stored():
            return response_key(str(self._first.get("id")))
        return key_of_turn(shown, _answered_by(self._given))

    def _may_be_continued(self) -> bool:
        """Whether the next request may name only this response: the session must be found by its id."""
        if not self._is_stored():
            return False
        begins = not any(is_made_by_model(item) and not is_opening(item) for item in self._given)
        return bool(self._body.get("previous_response_id")) or begins


def _is_hidden(item: Any, response: Response) -> bool:
    return isinstance(item, dict) and is_hidden_call(item, response.hidden_names)


def _call_id(item: Body) -> str:
    return str(item.get("call_id"))


def _answered_by(items: Iterable[Body]) -> str:
    answered = Answered()
    for item in items:
        follow(answered, item)
    return answered.key


def _object_of(data: bytes) -> Body | None:
    """The object of an event; None if it is none, such as a comment."""
    try:
        value = load_json(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
