"""The conversation of a Chat Completions request."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Self

from mnemic.context.entry import Entry
from mnemic.proxy.beginning import Beginning, ShownTurn
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
    reader = ConversationReader(body)
    reader.read(body["messages"])
    return reader.conversation()


class ConversationReader:
    """Reads messages in order, and checks that every call has its result.

    A copy continues from the same message.
    """

    def __init__(self, body: Body) -> None:
        """Takes the fields of a body; `read` takes its messages."""
        _check_fields(body)
        tools = body.get("tools") or []
        self._has_tools = bool(tools)
        self._tool_names = frozenset(_tool_names(tools))
        self._model = str(body.get("model", ""))
        self._is_streamed = body.get("stream") is True
        self._client_session = str(body.get("prompt_cache_key") or "")
        self._fixed_chars = len(dump_json(tools))
        self._is_leading = True
        self._last_role = ""
        self._first_words: tuple[str, ...] = ()
        self._has_answer = False
        self._beginning = Beginning()
        self._entries: list[Entry] = []
        self._keys = EntryKeys()
        self._calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._open: set[str] = set()

    def copy(self) -> Self:
        """A reader that has read the same; each goes on by itself."""
        copied = copy(self)
        copied._keys = self._keys.copy()
        copied._calls, copied._open = dict(self._calls), set(self._open)
        copied._entries = list(self._entries)
        return copied

    def read(self, messages: Sequence[Body]) -> None:
        """Read the next messages."""
        for message in messages:
            _check_message(message)
            role = message["role"]
            self._is_leading = self._is_leading and role in INSTRUCTION_ROLES
            if self._is_leading:
                self._fixed_chars += len(text_of(message.get("content")))
                continue
            if role not in INSTRUCTION_ROLES:
                # Some clients add instructions behind the last message.
                self._last_role = str(role)
            self._read_message(message)

    def conversation(self) -> Conversation:
        """What was read; `Unsure` if it cannot end here."""
        if self._last_role in ("", "assistant"):
            raise Unsure("the last message is neither the user's nor a result")
        self._check_end()
        conversation = Conversation(
            model=self._model,
            entries=tuple(self._entries),
            root=root_hash(self._first_words),
            tool_names=self._tool_names,
            is_streamed=self._is_streamed,
            # No reasoning of this API is bound to the text before it.
            has_thinking=False,
            at_user_turn=self._last_role == "user",
            fixed_chars=self._fixed_chars,
            client_session=self._client_session,
            beginning=self._beginning,
        )
        if not self._has_tools:
            raise without_tools(conversation)
        return conversation

    def _read_message(self, message: Body) -> None:
        if message["role"] == "tool":
            return self._read_result(message)
        self._check_end()
        text = text_of(message.get("content"))
        if message["role"] == "assistant":
            self._read_assistant(message, text)
        elif message["role"] == "user":
            self._read_user(text)
        else:
            self._entries.append(Entry(self._keys.of("instructions", text), "instructions", text))

    def _read_user(self, text: str) -> None:
        self._entries.append(Entry(self._keys.of("user", text), "user", text))
        self._beginning = self._beginning.said(text)
        if not self._has_answer:
            # Some clients begin with a message of their own.
            self._first_words = (*self._first_words, text)

    def _check_end(self) -> None:
        """Called where no call may be open: before the next message, and at the end."""
        if self._open:
            raise Unsure("a call has no result")

    def _read_assistant(self, message: Body, text: str) -> None:
        self._has_answer = True
        turn = ShownTurn(text, [str(call.get("id")) for call in calls_of(message)])
        self._beginning = self._beginning.answered(turn)
        if text:
            self._entries.append(Entry(self._keys.of("assistant", text), "assistant", text))
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
        self._entries.append(Entry(f"call:{call_id}", "call", text, name, arguments))

    def _read_result(self, message: Body) -> None:
        call_id = message.get("tool_call_id")
        if call_id not in self._open:
            raise Unsure("a result has no call")
        self._open.remove(call_id)
        name, arguments = self._calls[call_id]
        content = message.get("content")
        text = text_of(content)
        self._entries.append(
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


def begins_turn(before: Body, message: Body) -> bool:
    """Whether a message begins a turn of the assistant: what is before it can be read by itself."""
    return message.get("role") == "assistant"


def _check_fields(body: Body) -> None:
    """`Unsure` if memory cannot serve a request."""
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


def _check_message(message: Any) -> None:
    if not isinstance(message, dict) or message.get("role") not in KNOWN_ROLES:
        raise Unsure("a message of an unknown role")
    if message.get("function_call"):
        raise Unsure("functions instead of tools")
    calls = message.get("tool_calls")
    if calls is not None and not (isinstance(calls, list) and all(isinstance(call, dict) for call in calls)):
        raise Unsure("calls of an unknown shape")


def _tool_names(tools: Iterable[Any]) -> Iterable[str]:
    for tool in tools:
        if not isinstance(tool, dict):
            raise Unsure("a tool of an unknown shape")
        yield name_of(tool) or str(tool.get("type"))
