"""ChatGPT's export: the path that was on the screen becomes the conversation."""

import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.importing import import_from
from mnemic.errors import InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from tests.importers.conftest import Write


def node(
    node_id: str, parent: str | None, role: str, text: str, children: tuple[str, ...] = (), **more: Any
) -> tuple[str, dict[str, Any]]:
    message = {
        "id": node_id,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": 1_709_654_400.5,
        "content": {"content_type": "text", "parts": [text]},
        "status": "finished_successfully",
        "weight": 1.0,
        "metadata": {"model_slug": "gpt-4o"} if role == "assistant" else {},
        "recipient": "all",
        **more,
    }
    return node_id, {"id": node_id, "parent": parent, "children": list(children), "message": message}


def conversation(**changes: Any) -> dict[str, Any]:
    """A question that was edited once, and an answer with tool messages."""
    root = ("root", {"id": "root", "parent": None, "children": ["system"], "message": None})
    nodes = [
        root,
        node("system", "root", "system", "", ("first",), weight=0.0),
        node("first", "system", "user", "Where is Paris?", ("old",)),
        node("old", "first", "assistant", "In Texas."),
        node("second", "system", "user", "Where is Paris, France?", ("call",)),
        node("call", "second", "assistant", "search(Paris)", ("tool",), recipient="browser"),
        node("tool", "call", "tool", "Paris is …", ("answer",)),
        node("answer", "tool", "assistant", "On the Seine.", ("picture",)),
        node(
            "picture",
            "answer",
            "user",
            "",
            ("spoken",),
            content={"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}]},
        ),
        node(
            "spoken",
            "picture",
            "user",
            "",
            content={
                "content_type": "multimodal_text",
                "parts": [{"content_type": "audio_transcription", "text": "Thanks!"}, {"asset_pointer": "x"}],
            },
            create_time=None,
        ),
    ]
    return {
        "title": "Paris",
        "create_time": 1_709_650_000,
        "mapping": dict(nodes),
        "current_node": "spoken",
        "conversation_id": "c-1",
        **changes,
    }


async def test_the_current_path_becomes_the_conversation(memory: AsyncMemory, write: Write) -> None:
    report = await import_from(memory, "chatgpt", write("conversations.json", [conversation()]))
    turns = await memory.conversations.turns("chatgpt:c-1")
    assert [(turn.role, turn.content) for turn in turns] == [
        ("user", "Where is Paris, France?"),
        ("assistant", "On the Seine."),
        ("user", "Thanks!"),
    ]
    assert [turn.at for turn in turns] == [
        datetime.fromtimestamp(1_709_654_400.5, UTC),
        datetime.fromtimestamp(1_709_654_400.5, UTC),
        datetime.fromtimestamp(1_709_650_000, UTC),
    ]
    assert turns[1].metadata == {"title": "Paris", "model": "gpt-4o"}
    assert (turns[0].source, turns[0].external_id) == ("imported", "chatgpt:second")
    assert (report.batch_count, report.imported_count, report.skipped_count) == (1, 3, 1)
    assert "message picture" in report.skipped[0].record


async def test_a_repeated_import_stores_only_new_records(
    memory: AsyncMemory, write: Write, tmp_path: Path
) -> None:
    path = write("conversations.json", [conversation()])
    await import_from(memory, "chatgpt", path)
    again = await import_from(memory, "chatgpt", path)
    assert (again.imported_count, again.known_count) == (0, 3)
    longer = conversation(current_node="more")
    longer["mapping"].update([node("more", "spoken", "assistant", "You are welcome.")])
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.write(
            write("longer.json", [longer, conversation(conversation_id="c-2")]), "conversations.json"
        )
    more = await import_from(memory, "chatgpt", tmp_path / "export.zip")
    assert (more.batch_count, more.imported_count) == (2, 1)
    turns = await memory.conversations.turns("chatgpt:c-1")
    assert [turn.position for turn in turns] == [0, 1, 2, 3]
    assert turns[-1].content == "You are welcome."


async def test_without_a_current_node_the_last_leaf_is_taken(memory: AsyncMemory, write: Write) -> None:
    report = await import_from(memory, "chatgpt", write("c.json", conversation(current_node=None)))
    assert report.imported_count == 3


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"conversation_id": None}, "c.json, record 2 is not a conversation of ChatGPT"),
        ({"mapping": []}, "has no conversation_id or mapping"),
        ({"mapping": {"spoken": {"parent": "spoken"}}}, "its own ancestor"),
        ({"mapping": {"spoken": 1}}, "is not an object"),
    ],
)
async def test_a_malformed_conversation_ends_the_import_and_says_where(
    memory: AsyncMemory, write: Write, changes: dict[str, Any], said: str
) -> None:
    path = write("c.json", [conversation(), conversation(**changes)])
    with pytest.raises(InvalidInputError, match=said):
        await import_from(memory, "chatgpt", path)
    assert [each.conversation for each in await memory.conversations.list()] == ["chatgpt:c-1"]


async def test_an_invalid_time_is_skipped_with_its_reason(memory: AsyncMemory, write: Write) -> None:
    strange = conversation()
    strange["mapping"]["answer"]["message"]["create_time"] = 1e300
    report = await import_from(memory, "chatgpt", write("c.json", strange))
    assert "create_time is not a time" in report.skipped[0].reason
    assert report.imported_count == 2
