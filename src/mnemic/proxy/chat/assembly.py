"""A message of the assistant, put together from the chunks of a stream.

Providers add fields of their own to chunks (reasoning, signatures of calls). The provider gets them back as
it sent them: strings are joined, lists extended, and other values replaced.
"""

from dataclasses import dataclass, field
from typing import Any

from mnemic.proxy.chat.messages import name_of
from mnemic.proxy.json_text import load_object
from mnemic.proxy.protocol import Body

OUTPUT_ONLY = frozenset({"annotations"})
"""Fields of a message that are not sent back."""
NOT_JOINED = frozenset({"id", "type", "role", "index"})
"""Strings that some providers repeat in every chunk."""


@dataclass(slots=True)
class PartialCall:
    """A call of a message, as far as it has arrived."""

    body: Body = field(default_factory=dict)
    is_hidden: bool | None = None
    """None until the name is complete."""
    shown_index: int | None = None
    held: list[Body] = field(default_factory=list)
    """Pieces that the client has not seen, because the name is not complete."""

    @property
    def id(self) -> str:
        """The id of the call."""
        return str(self.body.get("id") or "")

    @property
    def name(self) -> str:
        """The tool, or the beginning of its name."""
        return name_of(self.body)

    @property
    def arguments_text(self) -> str:
        """Arguments of a function, or the input of a custom tool."""
        custom = self.body.get("custom") or {}
        return str((self.body.get("function") or {}).get("arguments") or custom.get("input") or "")

    def arguments(self) -> dict[str, Any]:
        """Arguments; a custom tool has one, its input."""
        if self.body.get("custom"):
            return {"input": self.arguments_text}
        return load_object(self.arguments_text)


class Assembly:
    """The message of one response of the provider."""

    def __init__(self) -> None:
        self.calls: list[PartialCall] = []
        self._fields: Body = {}
        self._by_index: dict[Any, PartialCall] = {}

    @property
    def text(self) -> str:
        """What the assistant said."""
        content = self._fields.get("content")
        return content if isinstance(content, str) else ""

    def add(self, delta: Body) -> None:
        """Take a piece of the message, except its calls."""
        _merge(self._fields, {name: value for name, value in delta.items() if name != "tool_calls"})

    def add_call(self, piece: Body) -> PartialCall:
        """Take a piece of a call."""
        call = self._call_of(piece)
        _merge(call.body, {name: value for name, value in piece.items() if name != "index"})
        return call

    def add_whole(self, message: Body) -> None:
        """Take a message that was not streamed."""
        self.add(message)
        for call in message.get("tool_calls") or []:
            _merge(self._new_call(len(self.calls)).body, call)

    def message(self, calls: list[PartialCall]) -> Body:
        """The message for the provider, with some of its calls; empty if nothing is left of it."""
        fields = {
            name: value
            for name, value in self._fields.items()
            if value is not None and name not in OUTPUT_ONLY
        }
        if not calls and not self.text and not fields.get("refusal"):
            return {}
        message = {**fields, "role": "assistant", "content": fields.get("content") or None}
        if calls:
            message["tool_calls"] = [call.body for call in calls]
        return message

    def _call_of(self, piece: Body) -> PartialCall:
        """The call that a piece belongs to. Some providers give all calls the same index, or none."""
        index, call_id = piece.get("index"), piece.get("id")
        call = self._by_index.get(index)
        if call is None or (call_id and call.id and call.id != call_id):
            return self._new_call(index)
        return call

    def _new_call(self, index: Any) -> PartialCall:
        call = PartialCall()
        self.calls.append(call)
        self._by_index[index] = call
        return call


def _merge(into: Body, piece: Body) -> None:
    for name, value in piece.items():
        old = into.get(name)
        if old is None or (name in NOT_JOINED and value):
            # A copy: the value is also what the client sees.
            into[name] = dict(value) if isinstance(value, dict) else _copied(value)
        elif isinstance(old, dict) and isinstance(value, dict):
            _merge(old, value)
        elif isinstance(old, str) and isinstance(value, str):
            if name not in NOT_JOINED:
                into[name] = old + value
        elif isinstance(old, list) and isinstance(value, list):
            old.extend(value)
        elif value is not None:
            into[name] = value


def _copied(value: Any) -> Any:
    return list(value) if isinstance(value, list) else value
