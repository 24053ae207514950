"""Recorded sessions of a coding agent, as the requests that it sent.

A line of the file is one session: its name and the records that the agent wrote. Records of one response
have the same message id. Records of subagents are left out.
"""

import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from mnemic.context.entry import Entry

CHARS_PER_TOKEN = 2.83
IMAGE_CHARS = 5_000
"""Counted for an image or a document, whose text is not recorded."""
SYNTHETIC = "<synthetic>"
"""Model of records that the agent wrote itself, without a request."""
CALLS_MIN = 25
FINAL_TOKENS_MIN = 60_000
"""Shorter sessions need no paging, and are left out."""
FIXED_TOKENS = (8_000, 40_000)
"""Bounds of the instructions and tools, whose text is not recorded."""
FIXED_TOKENS_UNKNOWN = 18_000


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit of a file by a response: the text that it replaces."""

    path: str
    old_text: str


@dataclass(frozen=True, slots=True)
class Call:
    """One request: what is new in it, and the response."""

    new: tuple[Entry, ...]
    """The response before it, results of tools, words of the user."""
    gap_s: float
    """Seconds since the response before it."""
    reported_tokens: int
    response: str
    edits: tuple[Edit, ...]
    at_user_turn: bool


@dataclass(frozen=True, slots=True)
class Session:
    """A session, or what lies between two compactions of it."""

    name: str
    calls: tuple[Call, ...]
    fixed_tokens: int


@dataclass
class _Message:
    role: str
    id: str | None
    model: str | None
    at: str
    is_compaction: bool
    blocks: list[dict[str, Any]] = field(default_factory=list)
    usage: Mapping[str, Any] = field(default_factory=dict)


def tokens_of(text: str) -> int:
    """Estimated tokens of a text."""
    return max(1, int(len(text) / CHARS_PER_TOKEN))


def read_sessions(file: Path, *, is_split: bool) -> Iterator[Session]:
    """Sessions that were compacted: whole, without the summaries, or split at the compactions."""
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield from sessions_of(json.loads(line), is_split=is_split)


def sessions_of(record: Mapping[str, Any], *, is_split: bool) -> Iterator[Session]:
    """The parts of one recorded session that are long enough."""
    messages = _messages(record["lines"])
    parts = _parts(messages) if is_split else [[each for each in messages if not each.is_compaction]]
    if not is_split and len(parts[0]) == len(messages):
        return
    for number, part in enumerate(parts):
        calls = tuple(_calls(part))
        if len(calls) >= CALLS_MIN and calls[-1].reported_tokens >= FINAL_TOKENS_MIN:
            yield Session(f"{record['session']}.{number}", calls, _fixed_tokens(calls[0]))


def _messages(records: Sequence[Mapping[str, Any]]) -> list[_Message]:
    messages: list[_Message] = []
    for record in records:
        if record.get("type") not in ("user", "assistant") or record.get("isSidechain"):
            continue
        _take(messages, record, record.get("message") or {})
    return messages


def _take(messages: list[_Message], record: Mapping[str, Any], message: Mapping[str, Any]) -> None:
    """Add a record to the last message, or begin a new one."""
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    role, last = record["type"], messages[-1] if messages else None
    is_compaction = role == "user" and bool(record.get("isCompactSummary"))
    is_same = last is not None and last.role == role and not is_compaction
    if last is None or not is_same or (role == "assistant" and last.id != message.get("id")):
        identity = message.get("id") if role == "assistant" else None
        last = _Message(role, identity, message.get("model"), record.get("timestamp") or "", is_compaction)
        messages.append(last)
    last.blocks += [block for block in blocks if isinstance(block, dict)]
    last.usage = message.get("usage") or last.usage


def _parts(messages: Sequence[_Message]) -> list[list[_Message]]:
    parts: list[list[_Message]] = [[]]
    for message in messages:
        if message.is_compaction and parts[-1]:
            parts.append([])
        parts[-1].append(message)
    return parts


def _calls(messages: Sequence[_Message]) -> Iterator[Call]:
    pending: list[Entry] = []
    tools: dict[str, tuple[str, Mapping[str, Any]]] = {}
    keys: set[str] = set()
    before: float | None = None
    for number, message in enumerate(messages):
        if message.role == "user":
            pending += [_entry(block, f"{number}.{n}", tools, keys) for n, block in enumerate(message.blocks)]
            continue
        if message.model == SYNTHETIC:
            continue
        at = _seconds(message.at)
        yield Call(
            new=tuple(entry for entry in pending if entry.key),
            gap_s=at - before if at and before else 0.0,
            reported_tokens=_reported(message.usage),
            response="\n".join(_texts(message.blocks)),
            edits=tuple(_edits(message.blocks)),
            at_user_turn=bool(pending) and pending[-1].role == "user",
        )
        before = at or before
        pending = list(_response_entries(message.blocks, number))
        for block in message.blocks:
            if block.get("type") == "tool_use":
                tools[block["id"]] = (block["name"], block.get("input") or {})


def _entry(
    block: Mapping[str, Any], key: str, tools: Mapping[str, tuple[str, Mapping[str, Any]]], keys: set[str]
) -> Entry:
    if block.get("type") == "text":
        return Entry(key, "user", block["text"])
    if block.get("type") in ("image", "document"):
        return Entry(key, "user", "x" * IMAGE_CHARS)
    if block.get("type") != "tool_result":
        return Entry("", "user", "")
    tool, arguments = tools.get(block.get("tool_use_id") or "", ("?", {}))
    identity = str(block.get("tool_use_id") or key)
    if identity in keys:
        identity = f"{identity}.{key}"
    keys.add(identity)
    return Entry(
        key=identity,
        role="result",
        text=_result_text(block.get("content")),
        tool=tool,
        arguments=arguments,
        is_error=bool(block.get("is_error")),
        is_pageable=True,
    )


def _result_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = (block for block in content or [] if isinstance(block, dict))
    return "\n".join(b.get("text", "") if b.get("type") == "text" else f"[{b.get('type')}]" for b in parts)


def _response_entries(blocks: Sequence[Mapping[str, Any]], number: int) -> Iterator[Entry]:
    for position, block in enumerate(blocks):
        key = f"{number}.{position}"
        if block.get("type") == "tool_use":
            arguments = block.get("input") or {}
            yield Entry(f"{key}.call", "call", json.dumps(arguments), block["name"], arguments)
        elif text := "\n".join(_texts([block])):
            yield Entry(key, "assistant", text)


def _texts(blocks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for block in blocks:
        match block.get("type"):
            case "text":
                yield block.get("text") or ""
            case "tool_use":
                yield json.dumps(block.get("input"))
            case "thinking":
                yield block.get("thinking") or ""


def _edits(blocks: Sequence[Mapping[str, Any]]) -> Iterator[Edit]:
    for block in blocks:
        if block.get("type") == "tool_use" and block["name"] in ("Edit", "MultiEdit"):
            arguments = block.get("input") or {}
            yield Edit(str(arguments.get("file_path") or ""), arguments.get("old_string") or "")


def _reported(usage: Mapping[str, Any]) -> int:
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(usage.get(name) or 0 for name in names)


def _seconds(at: str) -> float | None:
    try:
        return datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def _fixed_tokens(first: Call) -> int:
    if not first.reported_tokens:
        return FIXED_TOKENS_UNKNOWN
    low, high = FIXED_TOKENS
    return max(low, min(high, first.reported_tokens - sum(tokens_of(entry.text) for entry in first.new)))
