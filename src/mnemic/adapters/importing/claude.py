"""Claude's export: `conversations.json`, alone, in a folder or in the ZIP.

A conversation has a `uuid`, a `name`, the `account` that it belongs to and `chat_messages`, in order. A
message has a sender (`human`, `assistant`) and its text in blocks of `content`, or in `text` in older
exports. Tool calls and thinking are left out; of attachments only the names are kept.
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
ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


def read_claude(path: Path) -> Iterator[ImportBatch]:
    """A batch per conversation."""
    for name, file in text_files(path, FILES):
        for record in read_records(file, name, wrappers=WRAPPERS):
            yield _batch_of(record)


def _batch_of(record: Record) -> ImportBatch:
    conversation, messages = record.value.get("uuid"), record.value.get("chat_messages")
    if not isinstance(conversation, str) or not isinstance(messages, list):
        raise InvalidInputError(
            f"{record.place} is not a conversation of Claude: it has no uuid or chat_messages."
        )
    builder = BatchBuilder()
    for number, message in enumerate(messages, start=1):
        place = f"{record.place}, message {number}"
        if not isinstance(message, dict):
            raise InvalidInputError(f"{place} is not an object.")
        builder.add(place, partial(_item, record.value, message))
    return ImportBatch(record.place, builder.items, _account(record.value), builder.skipped)


def _account(conversation: dict[str, Any]) -> str | None:
    account = conversation.get("account")
    named = account.get("uuid") if isinstance(account, dict) else None
    return named if isinstance(named, str) else None


def _item(conversation: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    sender = message.get("sender")
    if sender not in ROLES:
        raise InvalidInputError(f"sender must be human or assistant, not {str(sender)[:40]!a}.")
    about = {"title": conversation.get("name") or None, "attachments": _attachments(message) or None}
    return {
        "content": require_text("text", _text(message)),
        "role": ROLES[sender],
        "conversation": f"claude:{conversation['uuid']}",
        "at": parse_time("created_at", message.get("created_at") or conversation.get("created_at")),
        "external_id": f"claude:{require_text('uuid', message.get('uuid'))}",
        "metadata": {name: value for name, value in about.items() if value is not None},
    }


def _text(message: dict[str, Any]) -> object:
    """The blocks of text or, in older exports, the field `text`."""
    blocks = message.get("content")
    texts = [
        block["text"]
        for block in (blocks if isinstance(blocks, list) else [])
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    return "\n\n".join(text for text in texts if text.strip()) or message.get("text")


def _attachments(message: dict[str, Any]) -> list[str]:
    """The names of the attachments."""
    given = [
        entry
        for field in ("attachments", "files")
        for entry in message.get(field) or ()
        if isinstance(entry, dict)
    ]
    return [entry["file_name"] for entry in given if isinstance(entry.get("file_name"), str)]
