"""Reads the conversation of a request, or says why the proxy must not touch it."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self

from mnemic.context.entry import Entry
from mnemic.proxy.anthropic.blocks import Block, Run, blocks_of, runs_of, texts_of
from mnemic.proxy.anthropic.turns import TurnPlaces, shown_turn
from mnemic.proxy.beginning import Beginning
from mnemic.proxy.json_text import dump_json
from mnemic.proxy.protocol import Body, Compaction, Conversation, Unsure
from mnemic.proxy.turn_keys import root_hash

COMPACTION = "Respond with TEXT ONLY"
"""How Claude Code begins the request for a summary of the conversation."""
REMINDER = "<system-reminder>"
"""Claude Code's own notes within messages of the user. They change when a session is resumed."""
_ID = re.compile(r"[\w.:-]{1,256}", re.ASCII)
"""Ids of calls. The API allows fewer characters."""
ROLES = frozenset({"user", "assistant", "system"})


def read_conversation(body: Body) -> Conversation:
    """The conversation of a body."""
    reader = ConversationReader(body)
    reader.read(body["messages"])
    return reader.conversation()


def is_compaction(last: Run) -> bool:
    """Whether the last message asks for a summary."""
    texts = texts_of(last.blocks)
    return bool(texts) and COMPACTION in texts[-1]


def result_text(block: Block) -> str | None:
    """The text of a result; None if it holds anything else, or nothing."""
    content = block.get("content")
    if isinstance(content, str):
        return content or None
    if not isinstance(content, list) or not content:
        return None
    texts = texts_of(content)
    return "\n".join(texts) if len(texts) == len(content) else None


def thinking_type(body: Body) -> str:
    """How the request asks for thinking: enabled, adaptive, or disabled."""
    thinking = body.get("thinking")
    return str(thinking.get("type", "disabled")) if isinstance(thinking, dict) else "disabled"


class ConversationReader:
    """Reads the messages of a conversation in order. A copy continues from the same message."""

    def __init__(self, body: Body) -> None:
        """Takes the fields of a body; `read` takes its messages."""
        _check_fields(body)
        self._model = str(body.get("model", ""))
        self._tool_names = frozenset(str(tool.get("name")) for tool in body["tools"])
        self._is_streamed = body.get("stream") is True
        self._fixed_chars = len(dump_json([body.get("system"), body["tools"]]))
        metadata = body.get("metadata")
        self._client_session = str(metadata.get("user_id") or "") if isinstance(metadata, dict) else ""
        self._must_keep_thinking = thinking_type(body) == "enabled"
        self._root = b""
        self._beginning = Beginning()
        self._has_thinking = False
        self._last: Run | None = None
        self._last_turn = self._open_turn = ""
        self._places = TurnPlaces()
        self._pairs = _Pairs()
        self._keys = _TextKeys()
        self._calls: dict[str, Block] = {}
        system = texts_of(blocks_of({"content": body.get("system")}))
        self._entries = [Entry(self._keys.of("instructions", text), "instructions", text) for text in system]

    def copy(self) -> Self:
        """A reader that has read the same; each goes on by itself."""
        copied = copy(self)
        copied._places = self._places.copy()
        copied._pairs = self._pairs.copy()
        copied._keys = self._keys.copy()
        copied._calls = dict(self._calls)
        copied._entries = list(self._entries)
        return copied

    def read(self, messages: Sequence[Body]) -> None:
        """Read the next messages; what they end with must not go on in those after them."""
        for message in messages:
            _check_message(message)
        for run in runs_of(messages):
            self._read_run(run)

    def conversation(self) -> Conversation:
        """What was read; `Unsure` if it cannot end here."""
        last = self._last
        if last is None or last.role == "assistant":
            raise Unsure("no message of the user at the end")
        self._pairs.check_end()
        conversation = Conversation(
            model=self._model,
            entries=tuple(self._entries),
            root=self._root,
            tool_names=self._tool_names,
            is_streamed=self._is_streamed,
            has_thinking=self._has_thinking,
            at_user_turn=not last.results,
            fixed_chars=self._fixed_chars,
            client_session=self._client_session,
            last_turn=self._last_turn,
            open_turn=self._open_turn if self._must_keep_thinking else "",
            beginning=self._beginning,
        )
        if is_compaction(last):
            raise Compaction("compaction request", conversation)
        return conversation

    def _read_run(self, run: Run) -> None:
        if self._last is None:
            if run.role != "user":
                raise Unsure("no message of the user at the start")
            self._root = root_hash(_first_words(run))
        self._pairs.check(run)
        for block in run.blocks:
            entry = _entry(run.role, block, self._keys, self._calls)
            if entry is not None:
                self._entries.append(entry)
        self._has_thinking = self._has_thinking or run.has_thinking
        self._note_turn(run)
        self._last = run

    def _note_turn(self, run: Run) -> None:
        """Keep the keys of the assistant's turns, and the first one whose thinking must stay.

        With thinking of a fixed budget, a turn whose results are being sent must begin with a thinking block.
        """
        if run.role == "assistant":
            self._last_turn = self._places.key_of(run)
            self._open_turn = self._open_turn or self._last_turn
            self._beginning = self._beginning.answered(shown_turn(run))
        elif run.role == "user":
            if not run.results:
                self._open_turn = ""
            self._beginning = self._beginning.after(_first_words(run))
        self._places.pass_by(run)


def begins_turn(before: Body, message: Body) -> bool:
    """Whether a message begins a turn of the assistant: what is before it can be read by itself."""
    return message.get("role") == "assistant" and before.get("role") == "user"


def _first_words(run: Run) -> list[str]:
    texts = texts_of(run.blocks)
    own = [text for text in texts if not text.lstrip().startswith(REMINDER)]
    return own or texts


def _check_fields(body: Body) -> None:
    tools, messages = body.get("tools"), body.get("messages")
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise Unsure("no tools")
    if not any("input_schema" in tool for tool in tools):
        raise Unsure("no tools of the client")
    if not isinstance(messages, list) or not messages:
        raise Unsure("no messages")


def _check_message(message: object) -> None:
    if not isinstance(message, dict) or message.get("role") not in ROLES:
        raise Unsure("unknown message")
    content = message.get("content")
    is_list = isinstance(content, list) and all(isinstance(block, dict) for block in content)
    if not is_list and not isinstance(content, str):
        raise Unsure("unknown content")


class _Pairs:
    """Calls and results pair, so that what is inserted and replaced keeps them paired."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._pending: list[str] = []

    def copy(self) -> Self:
        copied = copy(self)
        copied._seen = set(self._seen)
        return copied

    def check(self, run: Run) -> None:
        if run.role == "system":
            return
        _check_blocks(run)
        if run.role == "user":
            _check_results(run.results, self._pending)
            self._pending = []
            return
        self.check_end()
        self._pending = run.call_ids
        if len(set(self._pending)) != len(self._pending) or not self._seen.isdisjoint(self._pending):
            raise Unsure("duplicate id")
        self._seen.update(self._pending)

    def check_end(self) -> None:
        if self._pending:
            raise Unsure("call without result")


def _check_results(results: Sequence[str], calls: Sequence[str]) -> None:
    if not results and not calls:
        return
    if len(set(results)) != len(results):
        raise Unsure("duplicate result")
    if set(results) != set(calls):
        raise Unsure("results do not match calls")


def _check_blocks(run: Run) -> None:
    """Blocks that pair in an unknown way are none of ours to move."""
    for block in run.blocks:
        kind = block.get("type")
        if not isinstance(kind, str):
            raise Unsure("block without type")
        if kind == "text" and not isinstance(block.get("text"), str):
            raise Unsure("text block without text")
        if kind == "tool_use" and (run.role != "assistant" or not _is_call(block)):
            raise Unsure("unknown call")
        if kind == "tool_result" and (run.role != "user" or not _is_id(block.get("tool_use_id"))):
            raise Unsure("unknown result")
        if run.role == "user" and kind != "tool_result" and "tool_use_id" in block:
            raise Unsure(f"unknown result of type {kind}")


def _is_call(block: Block) -> bool:
    return _is_id(block.get("id")) and isinstance(block.get("name"), str)


def _is_id(value: object) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


class _TextKeys:
    """Keys of texts: a hash, and which repetition it is."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def copy(self) -> Self:
        copied = type(self)()
        copied._seen = dict(self._seen)
        return copied

    def of(self, role: str, text: str) -> str:
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        key = f"{role}:{digest}"
        count = self._seen[key] = self._seen.get(key, 0) + 1
        return key if count == 1 else f"{key}#{count}"


def _entry(role: str, block: Block, keys: _TextKeys, calls: dict[str, Block]) -> Entry | None:
    match block["type"]:
        case "text":
            return _text_entry(role, block["text"], keys)
        case "thinking":
            return _text_entry("assistant", str(block.get("thinking", "")), keys)
        case "tool_use":
            calls[block["id"]] = block
            arguments = _arguments(block)
            text = dump_json(arguments).decode("utf-8", "replace")
            return Entry(f"call:{block['id']}", "call", text, tool=block["name"], arguments=arguments)
        case "tool_result":
            return _result_entry(block, calls[block["tool_use_id"]])
        case _:
            return None


def _text_entry(role: str, text: str, keys: _TextKeys) -> Entry:
    match role:
        case "user":
            return Entry(keys.of("user", text), "user", text)
        case "assistant":
            return Entry(keys.of("assistant", text), "assistant", text)
        case _:
            return Entry(keys.of("instructions", text), "instructions", text)


def _result_entry(block: Block, call: Block) -> Entry:
    text = result_text(block)
    return Entry(
        key=block["tool_use_id"],
        role="result",
        text=text if text is not None else "\n".join(texts_of(blocks_of({"content": block.get("content")}))),
        tool=call["name"],
        arguments=_arguments(call),
        is_error=block.get("is_error") is True,
        is_pageable=text is not None,
    )


def _arguments(call: Block) -> Mapping[str, Any]:
    arguments = call.get("input")
    return arguments if isinstance(arguments, dict) else {}
