"""The conversation of a Responses request."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import groupby
from typing import Any, Self

from mnemic.context.entry import Entry
from mnemic.proxy.beginning import Beginning, ShownTurn
from mnemic.proxy.failed_results import says_failure
from mnemic.proxy.json_text import dump_json
from mnemic.proxy.protocol import Body, Compaction, Conversation, Unsure
from mnemic.proxy.responses.items import (
    CALLS,
    INSTRUCTION_ROLES,
    KNOWN,
    OUTPUTS,
    arguments_of,
    is_made_by_model,
    is_run_by_provider,
    is_text_only,
    items_of,
    name_of,
    shown_turn,
    text_of,
    type_of,
)
from mnemic.proxy.side_requests import without_tools
from mnemic.proxy.turn_keys import EntryKeys, root_hash

PROVIDER_STATE = ("background", "conversation", "prompt")
"""Fields of requests whose conversation the proxy cannot see whole, or whose response it does not relay."""


def read_conversation(body: Body) -> Conversation:
    """The conversation of a request; `Unsure` if it holds something unknown, or needs no memory."""
    reader = ConversationReader(body)
    reader.read(items_of(body))
    return reader.conversation()


class ConversationReader:
    """Reads items in order, and checks that every call has its output.

    A copy continues from the same item.
    """

    def __init__(self, body: Body) -> None:
        """Takes the fields of a body; `read` takes its items."""
        _check_fields(body)
        tools = body.get("tools") or []
        self._has_tools = bool(tools)
        self._tool_names = frozenset(_tool_names(tools))
        self._model = str(body.get("model", ""))
        self._is_streamed = body.get("stream") is True
        self._client_session = str(body.get("prompt_cache_key") or "")
        self._previous_id = str(body.get("previous_response_id") or "")
        self._fixed_chars = len(dump_json(tools)) + len(text_of(body.get("instructions")))
        # What the provider holds cannot be shortened later, nor be asked for again after it was shortened.
        self._is_pageable = self._knows_all = not self._previous_id
        self._is_leading = True
        self._first_words: tuple[str, ...] = ()
        self._is_first = True
        self._has_reasoning = self._is_compaction = False
        self._last_role = ""
        self._beginning = Beginning()
        self._entries: list[Entry] = []
        self._keys = EntryKeys()
        self._calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._open: set[str] = set()
        self._answered: set[str] = set()

    def copy(self) -> Self:
        """A reader that has read the same; each goes on by itself."""
        copied = copy(self)
        copied._keys = self._keys.copy()
        copied._calls, copied._entries = dict(self._calls), list(self._entries)
        copied._open, copied._answered = set(self._open), set(self._answered)
        return copied

    def read(self, items: Sequence[Body]) -> None:
        """Read the next items; a turn that they end with must not go on in those after them."""
        if not all(map(_is_known, items)):
            raise Unsure("an item of an unknown type")
        self._knows_all = self._knows_all and not any(map(_is_reference, items))
        for item in items:
            self._note_words(item)
            if type_of(item) in ("additional_tools", "tool_search_output"):
                self._tool_names |= frozenset(_tool_names(item.get("tools") or []))
            self._is_leading = self._is_leading and item.get("role") in INSTRUCTION_ROLES
            if self._is_leading:
                self._fixed_chars += len(text_of(item.get("content")))
            else:
                self._read_item(item)
        self._beginning = self._beginning.after(_said(items))

    def conversation(self) -> Conversation:
        """What was read; `Unsure` if it cannot end here."""
        if self._open:
            raise Unsure("a call has no output")
        if self._last_role not in ("user", "result"):
            raise Unsure("the last item is neither the user's nor a result")
        conversation = Conversation(
            model=self._model,
            entries=tuple(self._entries),
            root=root_hash([self._previous_id] if self._previous_id else self._first_words),
            tool_names=self._tool_names,
            is_streamed=self._is_streamed,
            # Encrypted reasoning is not bound to the items before it, but in a summary of the conversation,
            # too, each must be followed by the item that it led to.
            has_thinking=(self._is_compaction or not self._has_tools) and self._has_reasoning,
            at_user_turn=self._last_role == "user",
            fixed_chars=self._fixed_chars,
            client_session=self._client_session,
            previous_id=self._previous_id,
            beginning=self._beginning,
        )
        if self._is_compaction:
            raise Compaction("a compaction by the provider", conversation)
        if not self._has_tools:
            raise without_tools(conversation)
        return conversation

    def _note_words(self, item: Body) -> None:
        """Keep what the user said before the model first did; some clients begin with words of their own."""
        if self._is_first and item.get("role") == "user":
            self._first_words = (*self._first_words, text_of(item.get("content")))
        elif item.get("role") not in INSTRUCTION_ROLES:
            self._is_first = False

    def _read_item(self, item: Body) -> None:
        kind = type_of(item)
        self._is_compaction = kind == "compaction_trigger"
        self._has_reasoning = self._has_reasoning or kind == "reasoning"
        if kind == "message":
            self._read_message(item)
        elif is_run_by_provider(item):
            return
        elif kind in CALLS:
            self._read_call(item)
        elif kind in OUTPUTS:
            self._read_output(item)

    def _read_message(self, item: Body) -> None:
        text, role = text_of(item.get("content")), item.get("role")
        if role == "user":
            self._add(Entry(self._keys.of("user", text), "user", text))
        elif role == "assistant":
            if text:
                self._add(Entry(self._keys.of("assistant", text), "assistant", text))
        elif role in INSTRUCTION_ROLES:
            self._add(Entry(self._keys.of("instructions", text), "instructions", text))
        else:
            raise Unsure("a message of an unknown role")

    def _add(self, entry: Entry) -> None:
        self._entries.append(entry)
        if entry.role != "instructions":
            self._last_role = entry.role

    def _read_call(self, item: Body) -> None:
        call_id = item.get("call_id")
        if not isinstance(call_id, str) or not call_id or call_id in self._calls:
            raise Unsure("a call has no id of its own")
        name, arguments = name_of(item), arguments_of(item)
        self._calls[call_id] = (name, arguments)
        self._open.add(call_id)
        text = str(item.get("arguments") or item.get("input") or "")
        self._add(Entry(f"call:{call_id}", "call", text, name, arguments))

    def _read_output(self, item: Body) -> None:
        call_id = item.get("call_id")
        if not isinstance(call_id, str) or call_id in self._answered:
            raise Unsure("an output has no call of its own")
        if call_id not in self._open and self._knows_all:
            raise Unsure("an output has no call")
        self._open.discard(call_id)
        self._answered.add(call_id)
        name, arguments = self._calls.get(call_id, ("", {}))
        content = item.get("output")
        text = text_of(content)
        # Other outputs have shapes that the provider checks.
        is_function = type_of(item) == "function_call_output"
        is_pageable = is_function and is_text_only(content) and self._is_pageable
        is_error = says_failure(text)
        self._add(Entry(call_id, "result", text, name, arguments, is_error=is_error, is_pageable=is_pageable))


def begins_turn(before: Body, item: Body) -> bool:
    """Whether an item begins a turn of the assistant: what is before it can be read by itself."""
    return is_made_by_model(item) and not is_made_by_model(before)


def _check_fields(body: Body) -> None:
    """`Unsure` if memory cannot serve a request."""
    if not isinstance(body.get("tools") or [], list):
        raise Unsure("tools of an unknown shape")
    for name in PROVIDER_STATE:
        if body.get(name):
            raise Unsure(f"the field {name}")
    given = body.get("input")
    if not given or not isinstance(given, (str, list)):
        raise Unsure("no input")


def _is_known(item: Any) -> bool:
    return isinstance(item, dict) and type_of(item) in KNOWN


def _is_reference(item: Body) -> bool:
    return type_of(item) == "item_reference"


def _said(items: Iterable[Body]) -> Iterator[str | ShownTurn]:
    for is_turn, run in groupby(items, is_made_by_model):
        if is_turn:
            yield shown_turn(run)
        else:
            yield from (text_of(item.get("content")) for item in run if item.get("role") == "user")


def _tool_names(tools: Iterable[Any]) -> Iterator[str]:
    for tool in tools:
        if not isinstance(tool, dict):
            raise Unsure("a tool of an unknown shape")
        yield str(tool.get("name") or tool.get("type"))
        # A namespace holds tools.
        yield from _tool_names(tool.get("tools") or [])
