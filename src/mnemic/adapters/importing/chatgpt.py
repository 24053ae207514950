"""ChatGPT's export: `conversations.json` or `conversations-000.json` …, alone, in a folder or in a ZIP.

A conversation is a tree: every edited question and every regenerated answer is a branch. The path from
`current_node` up to the root is what the user saw last; that path is imported, turn by turn. Tool messages,
hidden system messages and the model's reasoning are left out.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from mnemic.adapters.importing.batches import BatchBuilder, ImportBatch, parse_time, require_text
from mnemic.adapters.importing.files import text_files
from mnemic.adapters.importing.records import Record, read_records
from mnemic.errors import InvalidInputError

FILES = re.compile(r"conversations(-\d+)?\.json")
WRAPPERS = ("conversations",)
ROLES = ("user", "assistant")
SAID = ("text", "multimodal_text")


def read_chatgpt(path: Path) -> Iterator[ImportBatch]:
    """A batch per conversation."""
    for name, file in text_files(path, FILES):
        for record in read_records(file, name, wrappers=WRAPPERS):
            yield _batch_of(record)


def _batch_of(record: Record) -> ImportBatch:
    value = record.value
    conversation = value.get("conversation_id") or value.get("id")
    mapping = value.get("mapping")
    if not isinstance(conversation, str) or not isinstance(mapping, dict):
        raise InvalidInputError(
            f"{record.place} is not a conversation of ChatGPT: it has no conversation_id or mapping."
        )
    builder = BatchBuilder()
    for node_id, message in _path(record.place, mapping, value.get("current_node")):
        if _is_said(message):
            builder.add(
                f"{record.place}, message {node_id}", partial(_item, value, conversation, node_id, message)
            )
    return ImportBatch(record.place, builder.items, None, builder.skipped)


def _path(place: str, mapping: dict[str, Any], current: object) -> list[tuple[str, dict[str, Any]]]:
    """The messages on the path from the root to the current node, with the ids of their nodes."""
    node_id = current if isinstance(current, str) and current in mapping else _last_leaf(mapping)
    found: dict[str, dict[str, Any]] = {}
    while isinstance(node_id, str) and node_id in mapping:
        if node_id in found:
            raise InvalidInputError(f"{place}: the message {node_id[:64]!a} is its own ancestor.")
        node = mapping[node_id]
        if not isinstance(node, dict):
            raise InvalidInputError(f"{place}: the message {node_id[:64]!a} is not an object.")
        message = node.get("message")
        found[node_id] = message if isinstance(message, dict) else {}
        node_id = node.get("parent")
    return list(found.items())[::-1]


def _last_leaf(mapping: dict[str, Any]) -> str | None:
    """The last message without an answer, for exports of other tools, which omit `current_node`."""
    leaves = [key for key, node in mapping.items() if isinstance(node, dict) and not node.get("children")]
    return leaves[-1] if leaves else None


def _is_said(message: dict[str, Any]) -> bool:
    """Whether the message was visible to the user."""
    metadata, content = _mapping(message.get("metadata")), _mapping(message.get("content"))
    return (
        _mapping(message.get("author")).get("role") in ROLES
        and message.get("recipient", "all") == "all"
        and content.get("content_type", "text") in SAID
        and not metadata.get("is_visually_hidden_from_conversation")
    )


def _item(
    conversation: dict[str, Any], conversation_id: str, node_id: str, message: dict[str, Any]
) -> dict[str, Any]:
    about = {"title": conversation.get("title"), "model": _mapping(message.get("metadata")).get("model_slug")}
    return {
        "content": require_text("content", _text(_mapping(message.get("content")))),
        "role": _mapping(message.get("author"))["role"],
        "conversation": f"chatgpt:{conversation_id}",
        "at": parse_time("create_time", message.get("create_time") or conversation.get("create_time")),
        "external_id": f"chatgpt:{message.get('id') or node_id}",
        "metadata": {name: value for name, value in about.items() if value is not None},
    }


def _text(content: dict[str, Any]) -> str:
    """The written and spoken parts; pictures have no text."""
    parts = content.get("parts")
    texts = [
        part if isinstance(part, str) else _mapping(part).get("text")
        for part in (parts if isinstance(parts, list) else [content.get("text")])
    ]
    return "\n".join(text for text in texts if isinstance(text, str) and text.strip())


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
