"""Claude's export: messages become turns, of their account's owner if that is wanted."""

from typing import Any

import pytest

from mnemic.adapters.importing import import_from
from mnemic.errors import InvalidInputError, OwnerRequiredError
from mnemic.sdk.memory import AsyncMemory
from tests.fresh_tenants import OpenMemory
from tests.importers.conftest import Write


def message(number: int, sender: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "uuid": f"m-{number}",
        "text": text,
        "content": [{"type": "text", "text": text, "citations": []}],
        "sender": sender,
        "created_at": f"2026-03-01T10:00:0{number}.000000Z",
        "updated_at": f"2026-03-01T10:00:0{number}.000000Z",
        "attachments": [],
        "files": [],
        **more,
    }


def conversation(*messages: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "uuid": "c-1",
        "name": "Cellos",
        "created_at": "2026-03-01T10:00:00.000000Z",
        "updated_at": "2026-03-01T10:00:09.000000Z",
        "account": {"uuid": "account-1"},
        "chat_messages": list(messages),
        **changes,
    }


SAID = (
    message(1, "human", "Which cello?", attachments=[{"file_name": "list.txt", "extracted_content": "…"}]),
    message(
        2,
        "assistant",
        "ignored",
        content=[
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "The old one."},
            {"type": "tool_use", "name": "search"},
            {"type": "text", "text": "It sounds best."},
        ],
    ),
    message(3, "human", "An older export has only text.", content=[]),
    message(4, "human", "", content=[]),
)


async def test_messages_become_turns(memory: AsyncMemory, write: Write) -> None:
    report = await import_from(memory, "claude", write("conversations.json", [conversation(*SAID)]))
    turns = await memory.conversations.turns("claude:c-1")
    assert [(turn.role, turn.content) for turn in turns] == [
        ("user", "Which cello?"),
        ("assistant", "The old one.\n\nIt sounds best."),
        ("user", "An older export has only text."),
    ]
    assert turns[0].metadata == {"title": "Cellos", "attachments": ["list.txt"]}
    assert f"{turns[1].at}" == "2026-03-01 10:00:02+00:00"
    assert (report.imported_count, report.skipped_count) == (3, 1)
    assert report.skipped[0].reason == "text is missing or empty."
    again = await import_from(memory, "claude", write("conversations.json", [conversation(*SAID)]))
    assert (again.imported_count, again.known_count) == (0, 3)


async def test_owners_can_be_taken_from_the_source(open_memory: OpenMemory, write: Write) -> None:
    memory = await open_memory(owner=None)
    path = write(
        "c.json",
        [conversation(SAID[0]), conversation(SAID[1], uuid="c-2", account=None)],
    )
    with pytest.raises(OwnerRequiredError, match="No owner for the import"):
        await import_from(memory, "claude", path)
    with pytest.raises(OwnerRequiredError, match="record 2"):
        await import_from(memory, "claude", path, owner_from_source=True)
    report = await import_from(memory, "claude", path, owner="alice", owner_from_source=True)
    assert report.owners == {"alice": 1}, "the other one is known since the attempt before"
    assert report.known_count == 1
    assert [each.owner for each in await memory.conversations.list(owner="account-1")] == ["account-1"]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (conversation(uuid=None), "has no uuid"),
        (conversation(chat_messages={}), "has no uuid or chat_messages"),
        (conversation(chat_messages=["x"]), "message 1 is not an object"),
    ],
)
async def test_an_invalid_conversation_is_an_error(
    memory: AsyncMemory, write: Write, record: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInputError, match=said):
        await import_from(memory, "claude", write("c.json", record))


async def test_an_unknown_sender_is_skipped(memory: AsyncMemory, write: Write) -> None:
    report = await import_from(memory, "claude", write("c.json", conversation(message(1, "ghost", "Boo."))))
    assert (report.imported_count, report.skipped_count) == (0, 1)
    assert "ghost" in report.skipped[0].reason
