"""The response to a Chat Completions request, over one or more responses of the provider.

The client sees one response: one id, one role, calls numbered from 0, one finish reason. Chunks of the first
response that hold nothing hidden are passed on as the bytes that they came as. The chunk with the finish
reason, and all after it, wait until `finish`: only then it is known whether the turn goes on.

A call is hidden or not by its name, which may arrive in pieces. While a name may still become a hidden one,
its pieces are held.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mnemic.proxy.beginning import ShownTurn
from mnemic.proxy.chat.assembly import Assembly, PartialCall
from mnemic.proxy.chat.messages import NOT_ANSWERED, answered_by, tool_message
from mnemic.proxy.json_text import dump_json, event_bytes, load_json
from mnemic.proxy.openai_errors import error_event
from mnemic.proxy.protocol import CAPPED, Body, Exchange, HiddenCall, Round, ServerSentEvent
from mnemic.proxy.turn_keys import turn_key

DONE = b"[DONE]"
CUT_SHORT = frozenset({"length", "content_filter"})
"""Finish reasons of a response whose last call may be incomplete."""
BETWEEN_ROUNDS = "\n\n"
"""Between texts of two responses of the provider, which the client sees as one."""


@dataclass(slots=True)
class _Held:
    """A chunk at the end of a response."""

    raw: bytes
    chunk: Body | None = None
    """None for the mark of the end."""
    is_changed: bool = False


@dataclass(slots=True)
class _Response:
    """One response of the provider, as far as it has arrived."""

    assembly: Assembly = field(default_factory=Assembly)
    finish_reason: str | None = None
    tail: list[_Held] = field(default_factory=list)
    body: Body | None = None
    """A response that was not streamed, and its bytes."""
    raw: bytes = b""
    usage: Body = field(default_factory=dict)
    failed: bool = False
    has_shown_text: bool = False

    @property
    def is_complete(self) -> bool:
        return self.finish_reason is not None and not self.failed

    def hidden(self) -> list[PartialCall]:
        return [call for call in self.assembly.calls if call.is_hidden]

    def shown(self) -> list[PartialCall]:
        return [call for call in self.assembly.calls if not call.is_hidden]


class ChatRelay:
    """See `mnemic.proxy.protocol.Relay`."""

    def __init__(self, body: Body, hidden: frozenset[str]) -> None:
        self._body = body
        self._hidden = hidden
        self._given = body
        self._now = _Response()
        self._earlier: list[_Response] = []
        self._turns: list[Body] = []
        """Messages of earlier responses, with the results of their hidden calls."""
        self._first: Body = {}
        """Id and time of the first chunk, which every chunk gets."""
        self._carried: Body | None = None
        """What a chunk said that also held the finish reason of a response that goes on."""

    def feed(self, event: ServerSentEvent) -> bytes:
        """What the client sees of a chunk."""
        if event.data == DONE:
            self._now.tail.append(_Held(event.raw))
            return b""
        chunk = _object_of(event.data)
        if chunk is None:
            return event.raw
        if "error" in chunk and not chunk.get("choices"):
            self._now.failed = True
            return event.raw
        return self._take_carried() + self._feed_chunk(chunk, event)

    def whole(self, body: Body, raw: bytes = b"") -> None:
        """Take a response that was not streamed."""
        now = self._now
        now.body, now.raw = body, raw
        now.usage = body.get("usage") or {}
        choices = body.get("choices")
        if not isinstance(choices, list) or not choices:
            now.failed = True
            return
        now.finish_reason = choices[0].get("finish_reason") or "stop"
        now.assembly.add_whole(choices[0].get("message") or {})
        self._decide_all()

    def end_round(self) -> Round:
        """The response of the provider that just ended."""
        now = self._now
        self._decide_all()
        hidden = () if now.finish_reason in CUT_SHORT else now.hidden()
        usage = now.usage
        details = usage.get("prompt_tokens_details") or {}
        return Round(
            hidden=tuple(HiddenCall(call.id, call.name, call.arguments()) for call in hidden),
            calls_client=bool(now.shown()),
            text=now.assembly.text,
            client_calls=tuple((call.id, call.name, call.arguments()) for call in now.shown()),
            prompt_tokens=usage.get("prompt_tokens") or 0,
            cached_tokens=details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or 0,
            output_tokens=usage.get("completion_tokens") or 0,
            is_complete=now.is_complete,
        )

    def continued(self, results: Mapping[str, str]) -> Body:
        """The next request: the last one, the message of the provider, and the results of its calls."""
        now = self._now
        turn = [now.assembly.message(now.assembly.calls), *self._results(now.hidden(), results)]
        self._turns += turn
        self._body = {**self._body, "messages": [*self._body["messages"], *turn]}
        self._carried = _said_at_the_end(now.tail)
        self._earlier.append(now)
        self._now = _Response()
        return self._body

    def exchange(self, results: Mapping[str, str]) -> Exchange | None:
        """The turn as the provider has it; None if the client has the same."""
        now = self._now
        answered = [] if now.finish_reason in CUT_SHORT else now.hidden()
        if not now.is_complete or not (self._turns or answered):
            return None
        message = now.assembly.message(
            [call for call in now.assembly.calls if not call.is_hidden or call in answered]
        )
        # Only now: it takes a walk over the whole transcript, which few turns need.
        answers = answered_by(self._given["messages"])
        return Exchange(
            key=turn_key([call.id for call in now.shown()], text=self._shown_text(), answers=answers),
            items=[*self._turns, *([message] if message else [])],
            results=self._results(answered, results),
        )

    def shown(self) -> ShownTurn:
        """The turn as the client will send it back."""
        return ShownTurn(self._shown_text(), [call.id for call in self._now.shown()])

    def finish(self) -> bytes:
        """The held end of the stream; for a response that was not streamed, its body."""
        now = self._now
        if now.body is not None:
            shown = self._whole_response(now.body)
            return now.raw if now.raw and shown is now.body else dump_json(shown)
        held = b"" if now.is_complete else self._held_pieces()
        end = b"".join(self._end_of(one) for one in now.tail)
        return self._take_carried() + held + self._note_chunk() + end

    def fail(self, status: int, body: bytes) -> bytes:
        """An error of the provider after the stream began."""
        return error_event(status, body)

    def _feed_chunk(self, chunk: Body, event: ServerSentEvent) -> bytes:
        now = self._now
        if isinstance(chunk.get("usage"), dict):
            now.usage = chunk["usage"]
        choices = chunk.get("choices")
        if not choices:
            return self._feed_without_choice(chunk, event)
        if not self._first:
            self._first = {name: chunk[name] for name in ("id", "created") if name in chunk}
        choice = choices[0]
        now.finish_reason = choice.get("finish_reason") or now.finish_reason
        delta = choice.get("delta") or {}
        shown = self._shown_delta(delta)
        is_changed = shown is not delta or bool(self._earlier)
        if is_changed:
            chunk = {**chunk, **self._first, "choices": [{**choice, "delta": shown}]}
        if now.finish_reason is not None:
            now.tail.append(_Held(event.raw, chunk, is_changed))
            return b""
        if not is_changed:
            return event.raw
        return event_bytes(chunk) if _says_something(shown) else b""

    def _feed_without_choice(self, chunk: Body, event: ServerSentEvent) -> bytes:
        """A chunk about the whole response: usage at its end, or reports of filters at its start."""
        if self._now.finish_reason is not None:
            self._now.tail.append(_Held(event.raw, chunk, bool(self._earlier)))
            return b""
        return b"" if self._earlier else event.raw

    def _shown_delta(self, delta: Body) -> Body:
        """What the client sees of a piece of the message; the same object if all of it."""
        now = self._now
        now.assembly.add(delta)
        shown = delta
        pieces = delta.get("tool_calls")
        if isinstance(pieces, list) or now.finish_reason is not None:
            shown_pieces = self._shown_pieces(pieces or [])
            if shown_pieces != (pieces or []):
                shown = {name: value for name, value in delta.items() if name != "tool_calls"}
                if shown_pieces:
                    shown["tool_calls"] = shown_pieces
        return self._spliced(shown) if self._earlier else shown

    def _spliced(self, shown: Body) -> Body:
        """A piece of a later response: without the role, and with space before its text."""
        spliced = {name: value for name, value in shown.items() if name != "role"}
        if shown.get("content") and not self._now.has_shown_text:
            self._now.has_shown_text = True
            if self._text_before():
                spliced["content"] = BETWEEN_ROUNDS + shown["content"]
        return spliced

    def _shown_pieces(self, pieces: Iterable[Body]) -> list[Body]:
        """The pieces of calls that the client sees, numbered as it sees them."""
        shown: list[Body] = []
        for piece in pieces:
            call = self._now.assembly.add_call(piece)
            call.held.append(piece)
            self._decide(call)
            shown += self._released(call)
        if self._now.finish_reason is not None:
            self._decide_all()
            for call in self._now.assembly.calls:
                shown += self._released(call)
        return shown

    def _released(self, call: PartialCall) -> list[Body]:
        """The held pieces of a call that turned out to be the client's."""
        if call.is_hidden is None:
            return []
        pieces, call.held = call.held, []
        if call.is_hidden:
            return []
        if call.shown_index is None:
            others = (other.shown_index for other in self._now.assembly.calls)
            call.shown_index = sum(index is not None for index in others)
        return [{**piece, "index": call.shown_index} if "index" in piece else piece for piece in pieces]

    def _held_pieces(self) -> bytes:
        """Calls of the client in a stream that ended before their names were complete."""
        pieces = [piece for call in self._now.assembly.calls for piece in self._released(call)]
        choice = {"index": 0, "delta": {"tool_calls": pieces}, "finish_reason": None}
        return event_bytes({**self._first, "choices": [choice]}) if pieces else b""

    def _decide(self, call: PartialCall, *, is_whole: bool = False) -> None:
        """Find out whether a call is hidden, as soon as its name shows it."""
        if call.is_hidden is not None:
            return
        if not any(name.startswith(call.name) for name in self._hidden):
            call.is_hidden = False
        elif is_whole or call.arguments_text:
            call.is_hidden = call.name in self._hidden

    def _decide_all(self) -> None:
        for call in self._now.assembly.calls:
            self._decide(call, is_whole=True)

    def _end_of(self, held: _Held) -> bytes:
        """A chunk at the end of the last response, as the client sees it."""
        if held.chunk is None or not (held.is_changed or self._changes_end()):
            return held.raw
        changed = dict(held.chunk)
        if changed.get("choices"):
            choice = dict(changed["choices"][0])
            choice["finish_reason"] = self._finish_reason(choice.get("finish_reason"))
            changed["choices"] = [choice]
        if isinstance(changed.get("usage"), dict):
            changed["usage"] = self._usage(changed["usage"])
        return event_bytes({**changed, **self._first})

    def _changes_end(self) -> bool:
        reason = self._now.finish_reason
        return bool(self._earlier) or self._finish_reason(reason) != reason

    def _finish_reason(self, reason: Any) -> Any:
        """A turn whose calls are all hidden ends like one without calls."""
        return "stop" if reason == "tool_calls" and not self._now.shown() else reason

    def _usage(self, usage: Body) -> Body:
        """Usage of the last response, with the output of all: its prompt is what the window holds."""
        output = sum(earlier.usage.get("completion_tokens") or 0 for earlier in self._earlier)
        if not output:
            return usage
        summed = {**usage}
        for name in ("completion_tokens", "total_tokens"):
            summed[name] = (usage.get(name) or 0) + output
        return summed

    def _whole_response(self, body: Body) -> Body:
        """A response that was not streamed, as the client sees it."""
        now = self._now
        if now.failed or not (self._earlier or now.hidden()):
            return body
        choice = dict(body["choices"][0])
        message = {name: value for name, value in choice["message"].items() if name != "tool_calls"}
        message["content"] = self._shown_text() or None
        if now.shown():
            message["tool_calls"] = [call.body for call in now.shown()]
        choice |= {"message": message, "finish_reason": self._finish_reason(choice.get("finish_reason"))}
        first = self._earlier[0].body if self._earlier else None
        merged = {**body, "choices": [choice]}
        if first is not None:
            merged |= {name: first[name] for name in ("id", "created") if name in first}
        if isinstance(body.get("usage"), dict):
            merged["usage"] = self._usage(body["usage"])
        return merged

    def _shown_text(self) -> str:
        texts = (response.assembly.text for response in (*self._earlier, self._now))
        return BETWEEN_ROUNDS.join(text for text in texts if text) or self._note()

    def _note(self) -> str:
        """What to show of a turn that ends although its last response asks for nothing but the memory."""
        now = self._now
        is_capped = now.is_complete and now.finish_reason not in CUT_SHORT and now.hidden()
        has_text = self._text_before() or now.assembly.text
        return CAPPED if is_capped and not now.shown() and not has_text else ""

    def _note_chunk(self) -> bytes:
        if not self._note():
            return b""
        chunk = next((held.chunk for held in self._now.tail if held.chunk is not None), {})
        kept = {name: value for name, value in chunk.items() if name != "usage"}
        choice = {"index": 0, "delta": {"content": CAPPED}, "finish_reason": None}
        return event_bytes({**kept, **self._first, "choices": [choice]})

    def _text_before(self) -> bool:
        return any(response.assembly.text for response in self._earlier)

    def _take_carried(self) -> bytes:
        carried, self._carried = self._carried, None
        return event_bytes(carried) if carried is not None else b""

    @staticmethod
    def _results(calls: Iterable[PartialCall], results: Mapping[str, str]) -> list[Body]:
        return [tool_message(call.id, results.get(call.id, NOT_ANSWERED)) for call in calls]


def _object_of(data: bytes) -> Body | None:
    """The object of an event; None if it is none, such as a comment."""
    try:
        value = load_json(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _says_something(delta: Body) -> bool:
    """Whether a piece of a message holds more than empty values."""
    return any(value not in (None, "", [], {}) for value in delta.values())


def _said_at_the_end(tail: Iterable[_Held]) -> Body | None:
    """What the chunk with the finish reason said, without the reason."""
    for held in tail:
        choices = (held.chunk or {}).get("choices")
        if held.chunk is not None and choices and _says_something(choices[0].get("delta") or {}):
            return {**held.chunk, "choices": [{**choices[0], "finish_reason": None}]}
    return None
