"""The conversation of a Responses request."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from mnemic.context.entry import Entry
from mnemic.proxy.beginning import ShownTurn, beginning_of
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
    items = _checked_items(body)
    previous_id = str(body.get("previous_response_id") or "")
    leading = _leading_instructions(items)
    reader = _Reader(
        knows_all=not previous_id and not any(map(_is_reference, items)),
        # What the provider holds cannot be shortened later, nor be asked for again after it was shortened.
        is_pageable=not previous_id,
    )
    for item in items[leading:]:
        reader.read(item)
    reader.check_end()
    words = [entry.role for entry in reader.entries if entry.role != "instructions"]
    if not words or words[-1] not in ("user", "result"):
        raise Unsure("the last item is neither the user's nor a result")
    is_compaction = type_of(items[-1]) == "compaction_trigger"
    conversation = Conversation(
        model=str(body.get("model", "")),
        entries=tuple(reader.entries),
        root=root_hash([previous_id] if previous_id else _first_words(items)),
        tool_names=frozenset(_tool_names(_all_tools(body, items))),
        is_streamed=body.get("stream") is True,
        # Encrypted reasoning is not bound to the items before it, but in a summary of the conversation, too,
        # each must be followed by the item that it led to.
        has_thinking=(is_compaction or not body.get("tools")) and any(map(_is_reasoning, items)),
        at_user_turn=words[-1] == "user",
        fixed_chars=_fixed_chars(body, items[:leading]),
        client_session=str(body.get("prompt_cache_key") or ""),
        previous_id=previous_id,
        beginning=beginning_of(_said(items)),
    )
    if is_compaction:
        raise Compaction("a compaction by the provider", conversation)
    if not body.get("tools"):
        raise without_tools(conversation)
    return conversation


class _Reader:
    """Reads items in order, and checks that every call has its output."""

    def __init__(self, *, knows_all: bool, is_pageable: bool) -> None:
        self.entries: list[Entry] = []
        self._is_pageable = is_pageable
        self._knows_all = knows_all
        self._keys = EntryKeys()
        self._calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._open: set[str] = set()
        self._answered: set[str] = set()

    def read(self, item: Body) -> None:
        kind = type_of(item)
        if kind == "message":
            self._read_message(item)
        elif is_run_by_provider(item):
            return
        elif kind in CALLS:
            self._read_call(item)
        elif kind in OUTPUTS:
            self._read_output(item)

    def check_end(self) -> None:
        """All calls have an output."""
        if self._open:
            raise Unsure("a call has no output")

    def _read_message(self, item: Body) -> None:
        text, role = text_of(item.get("content")), item.get("role")
        if role == "user":
            self.entries.append(Entry(self._keys.of("user", text), "user", text))
        elif role == "assistant":
            if text:
                self.entries.append(Entry(self._keys.of("assistant", text), "assistant", text))
        elif role in INSTRUCTION_ROLES:
            self.entries.append(Entry(self._keys.of("instructions", text), "instructions", text))
        else:
            raise Unsure("a message of an unknown role")

    def _read_call(self, item: Body) -> None:
        call_id = item.get("call_id")
        if not isinstance(call_id, str) or not call_id or call_id in self._calls:
            raise Unsure("a call has no id of its own")
        name, arguments = name_of(item), arguments_of(item)
        self._calls[call_id] = (name, arguments)
        self._open.add(call_id)
        text = str(item.get("arguments") or item.get("input") or "")
        self.entries.append(Entry(f"call:{call_id}", "call", text, name, arguments))

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
        self.entries.append(
            Entry(call_id, "result", text, name, arguments, is_error=is_error, is_pageable=is_pageable)
        )


def _checked_items(body: Body) -> list[Body]:
    """The items of a request that memory can serve."""
    if not isinstance(body.get("tools") or [], list):
        raise Unsure("tools of an unknown shape")
    for name in PROVIDER_STATE:
        if body.get(name):
            raise Unsure(f"the field {name}")
    given = body.get("input")
    if not given or not isinstance(given, (str, list)):
        raise Unsure("no input")
    items = items_of(body)
    for item in items:
        if not _is_known(item):
            raise Unsure("an item of an unknown type")
    return items


def _is_known(item: Any) -> bool:
    return isinstance(item, dict) and type_of(item) in KNOWN


def _is_reasoning(item: Body) -> bool:
    return type_of(item) == "reasoning"


def _is_reference(item: Body) -> bool:
    return type_of(item) == "item_reference"


def _leading_instructions(items: Sequence[Body]) -> int:
    """How many items at the start are instructions."""
    for index, item in enumerate(items):
        if item.get("role") not in INSTRUCTION_ROLES:
            return index
    return len(items)


def _first_words(items: Iterable[Body]) -> Iterator[str]:
    """What the user said before the model first did. Some clients begin with a message of their own."""
    for item in items:
        if item.get("role") == "user":
            yield text_of(item.get("content"))
        elif item.get("role") not in INSTRUCTION_ROLES:
            return


def _said(items: Iterable[Body]) -> Iterator[str | ShownTurn]:
    for is_turn, run in groupby(items, is_made_by_model):
        if is_turn:
            yield shown_turn(run)
        else:
            yield from (text_of(item.get("content")) for item in run if item.get("role") == "user")


def _all_tools(body: Body, items: Iterable[Body]) -> Iterator[Any]:
    """Tools of the request, and those that were added in the course of it."""
    yield from body.get("tools") or []
    for item in items:
        if type_of(item) in ("additional_tools", "tool_search_output"):
            yield from item.get("tools") or []


def _tool_names(tools: Iterable[Any]) -> Iterator[str]:
    for tool in tools:
        if not isinstance(tool, dict):
            raise Unsure("a tool of an unknown shape")
        yield str(tool.get("name") or tool.get("type"))
        # A namespace holds tools.
        yield from _tool_names(tool.get("tools") or [])


def _fixed_chars(body: Body, leading: Iterable[Body]) -> int:
    texts = [text_of(item.get("content")) for item in leading]
    return (
        len(dump_json(body.get("tools") or []))
        + len(text_of(body.get("instructions")))
        + sum(map(len, texts))
    )
