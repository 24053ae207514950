"""Reads the conversation of a request, or says why the proxy must not touch it."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mnemic.context.entry import Entry
from mnemic.proxy.anthropic.blocks import Block, Run, blocks_of, runs_of, texts_of
from mnemic.proxy.anthropic.turns import TurnPlaces, shown_turn
from mnemic.proxy.beginning import ShownTurn, beginning_of
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
    _check_shape(body)
    runs = list(runs_of(body["messages"]))
    _check_runs(runs)
    conversation = _conversation(body, runs)
    if is_compaction(runs[-1]):
        raise Compaction("compaction request", conversation)
    return conversation


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


def _conversation(body: Body, runs: Sequence[Run]) -> Conversation:
    turns, open_turn = _turns(body, runs)
    metadata = body.get("metadata")
    return Conversation(
        model=str(body.get("model", "")),
        entries=tuple(_entries(body, runs)),
        root=root_hash(_first_words(runs[0])),
        tool_names=frozenset(str(tool.get("name")) for tool in body["tools"]),
        is_streamed=body.get("stream") is True,
        has_thinking=any(run.has_thinking for run in runs),
        at_user_turn=not runs[-1].results,
        fixed_chars=len(dump_json([body.get("system"), body["tools"]])),
        client_session=str(metadata.get("user_id") or "") if isinstance(metadata, dict) else "",
        last_turn=turns[-1] if turns else "",
        open_turn=open_turn,
        beginning=beginning_of(_said(runs)),
    )


def _turns(body: Body, runs: Sequence[Run]) -> tuple[list[str], str]:
    """Keys of the assistant's turns, and the first one whose thinking must stay.

    With thinking of a fixed budget, a turn whose results are being sent must begin with a thinking block.
    """
    places, keys, open_turn = TurnPlaces(), [], ""
    for run in runs:
        if run.role == "assistant":
            keys.append(places.key_of(run))
            open_turn = open_turn or keys[-1]
        elif run.role == "user" and not run.results:
            open_turn = ""
        places.pass_by(run)
    return keys, open_turn if thinking_type(body) == "enabled" else ""


def _said(runs: Sequence[Run]) -> Iterator[str | ShownTurn]:
    for run in runs:
        if run.role == "assistant":
            yield shown_turn(run)
        elif run.role == "user":
            yield from _first_words(run)


def _first_words(run: Run) -> list[str]:
    texts = texts_of(run.blocks)
    own = [text for text in texts if not text.lstrip().startswith(REMINDER)]
    return own or texts


def _check_shape(body: Body) -> None:
    tools, messages = body.get("tools"), body.get("messages")
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise Unsure("no tools")
    if not any("input_schema" in tool for tool in tools):
        raise Unsure("no tools of the client")
    if not isinstance(messages, list) or not messages:
        raise Unsure("no messages")
    for message in messages:
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            raise Unsure("unknown message")
        content = message.get("content")
        is_list = isinstance(content, list) and all(isinstance(block, dict) for block in content)
        if not is_list and not isinstance(content, str):
            raise Unsure("unknown content")


def _check_runs(runs: Sequence[Run]) -> None:
    """Calls and results pair, so that what is inserted and replaced keeps them paired."""
    if runs[0].role != "user" or runs[-1].role == "assistant":
        raise Unsure("no message of the user at the start or the end")
    seen: set[str] = set()
    pending: list[str] = []
    for run in runs:
        if run.role == "system":
            continue
        _check_blocks(run)
        if run.role == "user":
            _check_results(run.results, pending)
            pending = []
        elif pending:
            raise Unsure("call without result")
        else:
            pending = run.call_ids
            if len(set(pending)) != len(pending) or not seen.isdisjoint(pending):
                raise Unsure("duplicate id")
            seen.update(pending)
    if pending:
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


def _entries(body: Body, runs: Sequence[Run]) -> Iterator[Entry]:
    keys = _TextKeys()
    calls: dict[str, Block] = {}
    system = body.get("system")
    for text in texts_of(blocks_of({"content": system})):
        yield Entry(keys.of("instructions", text), "instructions", text)
    for run in runs:
        for block in run.blocks:
            entry = _entry(run.role, block, keys, calls)
            if entry is not None:
                yield entry


class _TextKeys:
    """Keys of texts: a hash, and which repetition it is."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

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
