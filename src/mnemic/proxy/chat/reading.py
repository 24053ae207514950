"""The conversation of a Chat Completions request."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mnemic.context.entry import Entry
from mnemic.proxy.beginning import ShownTurn, beginning_of
from mnemic.proxy.chat.messages import (
    INSTRUCTION_ROLES,
    KNOWN_ROLES,
    calls_of,
    is_text_only,
    name_of,
    text_of,
)
from mnemic.proxy.failed_results import says_failure
from mnemic.proxy.json_text import dump_json, load_object
from mnemic.proxy.protocol import Body, Conversation, Unsure
from mnemic.proxy.side_requests import without_tools
from mnemic.proxy.turn_keys import EntryKeys, root_hash


def read_conversation(body: Body) -> Conversation:
    """The conversation of a request; `Unsure` if it holds something unknown, or needs no memory."""
    messages = _checked_messages(body)
    last = _last_role(messages)
    leading = _leading_instructions(messages)
    reader = _Reader()
    for message in messages[leading:]:
        reader.read(message)
    reader.check_end()
    tools = body.get("tools") or []
    conversation = Conversation(
        model=str(body.get("model", "")),
        entries=tuple(reader.entries),
        root=root_hash(_first_words(messages)),
        tool_names=frozenset(_tool_names(tools)),
        is_streamed=body.get("stream") is True,
        # No reasoning of this API is bound to the text before it.
        has_thinking=False,
        at_user_turn=last == "user",
        fixed_chars=_fixed_chars(tools, messages[:leading]),
        client_session=str(body.get("prompt_cache_key") or ""),
        beginning=beginning_of(_said(messages)),
    )
    if not tools:
        raise without_tools(conversation)
    return conversation


class _Reader:
    """Reads messages in order, and checks that every call has its result."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._keys = EntryKeys()
        self._calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._open: set[str] = set()

    def read(self, message: Body) -> None:
        if message["role"] == "tool":
            return self._read_result(message)
        self.check_end()
        text = text_of(message.get("content"))
        if message["role"] == "assistant":
            self._read_assistant(message, text)
        elif message["role"] == "user":
            self.entries.append(Entry(self._keys.of("user", text), "user", text))
        else:
            self.entries.append(Entry(self._keys.of("instructions", text), "instructions", text))

    def check_end(self) -> None:
        """Called where no call may be open: before the next message, and at the end."""
        if self._open:
            raise Unsure("a call has no result")

    def _read_assistant(self, message: Body, text: str) -> None:
        if text:
            self.entries.append(Entry(self._keys.of("assistant", text), "assistant", text))
        for call in calls_of(message):
            self._read_call(call)

    def _read_call(self, call: Body) -> None:
        call_id = call.get("id")
        if not isinstance(call_id, str) or not call_id or call_id in self._calls:
            raise Unsure("a call has no id of its own")
        arguments_text = (call.get("function") or {}).get("arguments") or ""
        name, arguments = name_of(call), load_object(arguments_text)
        self._calls[call_id] = (name, arguments)
        self._open.add(call_id)
        text = str((call.get("custom") or {}).get("input") or arguments_text)
        self.entries.append(Entry(f"call:{call_id}", "call", text, name, arguments))

    def _read_result(self, message: Body) -> None:
        call_id = message.get("tool_call_id")
        if call_id not in self._open:
            raise Unsure("a result has no call")
        self._open.remove(call_id)
        name, arguments = self._calls[call_id]
        content = message.get("content")
        text = text_of(content)
        self.entries.append(
            Entry(
                key=call_id,
                role="result",
                text=text,
                tool=name,
                arguments=arguments,
                is_error=says_failure(text),
                is_pageable=is_text_only(content),
            )
        )


def _checked_messages(body: Body) -> list[Body]:
    """The messages of a request that memory can serve."""
    if not isinstance(body.get("tools") or [], list):
        raise Unsure("tools of an unknown shape")
    if body.get("n") not in (None, 1):
        raise Unsure("several choices")
    if body.get("functions") or body.get("function_call"):
        raise Unsure("functions instead of tools")
    if "audio" in (body.get("modalities") or ()):
        raise Unsure("audio")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Unsure("no messages")
    for message in messages:
        _check_message(message)
    return messages


def _check_message(message: Any) -> None:
    if not isinstance(message, dict) or message.get("role") not in KNOWN_ROLES:
        raise Unsure("a message of an unknown role")
    if message.get("function_call"):
        raise Unsure("functions instead of tools")
    calls = message.get("tool_calls")
    if calls is not None and not (isinstance(calls, list) and all(isinstance(call, dict) for call in calls)):
        raise Unsure("calls of an unknown shape")


def _last_role(messages: Sequence[Body]) -> str:
    """Whose the last message is; some clients add instructions behind it."""
    roles = [message["role"] for message in messages if message["role"] not in INSTRUCTION_ROLES]
    if not roles or roles[-1] == "assistant":
        raise Unsure("the last message is neither the user's nor a result")
    return str(roles[-1])


def _leading_instructions(messages: Sequence[Body]) -> int:
    """How many messages at the start are instructions."""
    for index, message in enumerate(messages):
        if message["role"] not in INSTRUCTION_ROLES:
            return index
    return len(messages)


def _first_words(messages: Sequence[Body]) -> Iterable[str]:
    """What the user said before the assistant first did. Some clients begin with a message of their own."""
    for message in messages:
        if message["role"] == "assistant":
            return
        if message["role"] == "user":
            yield text_of(message.get("content"))


def _said(messages: Sequence[Body]) -> Iterable[str | ShownTurn]:
    for message in messages:
        text = text_of(message.get("content"))
        if message["role"] == "assistant":
            yield ShownTurn(text, [str(call.get("id")) for call in calls_of(message)])
        elif message["role"] == "user":
            yield text


def _tool_names(tools: Iterable[Any]) -> Iterable[str]:
    for tool in tools:
        if not isinstance(tool, dict):
            raise Unsure("a tool of an unknown shape")
        yield name_of(tool) or str(tool.get("type"))


def _fixed_chars(tools: Sequence[Any], instructions: Sequence[Body]) -> int:
    texts = (text_of(message.get("content")) for message in instructions)
    return len(dump_json(tools)) + sum(len(text) for text in texts)
