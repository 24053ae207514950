"""`mnemic retain` and `mnemic embed`."""

import json
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.models import embedding
from mnemic.models.testing import HashedWords
from tests.cli.conftest import Run


def contents(memory: Memory) -> list[str]:
    return [record.content for record in memory.memories.list()][::-1]


def test_a_text_is_remembered(mnemic: Run, memory: Memory) -> None:
    ended = mnemic(
        "retain", "Alice lives in Berlin.", "--tag", "home", "--tag", "City", "--category", "preference"
    )
    assert (ended.code, ended.out.strip(), ended.err) == (0, "stored 1, known already 0, refused 0", "")
    (record,) = memory.memories.list()
    assert (record.content, record.tags, record.category, record.process) == (
        "Alice lives in Berlin.",
        ("city", "home"),
        "preference",
        "cli",
    )
    assert "known already 1" in mnemic("retain", "Alice lives in Berlin.").out


def test_options_name_owner_channel_and_conversation(mnemic: Run, memory: Memory) -> None:
    mnemic("retain", "Hello.", "--owner", "bob", "--channel", "work", "--conversation", "c")
    (turn,) = memory.conversations.turns("c", owner="bob")
    assert (turn.content, turn.channel, turn.category) == ("Hello.", "work", "episodic")


def test_standard_input_is_remembered_as_it_is(mnemic: Run, memory: Memory) -> None:
    text = "First line.\r\n\nÜmläute 👩🏽‍🚀.\n"
    assert mnemic("retain", "-", stdin=text.encode()).code == 0
    assert contents(memory) == [text]


@pytest.mark.parametrize("stdin", [b"", b" \n", b"\xff\xfe", b"a\0b"])
def test_input_that_is_no_text_is_refused(mnemic: Run, memory: Memory, stdin: bytes) -> None:
    ended = mnemic("retain", "-", stdin=stdin)
    assert (ended.code, ended.out) == (1, "")
    assert ended.said.startswith("Error: ")
    assert contents(memory) == []


def test_the_answer_as_json_says_what_became_of_each_item(mnemic: Run, memory: Memory) -> None:
    answer = mnemic("retain", "x", "--json").json
    (record,) = memory.memories.list()
    assert answer["stored"] == [
        {"index": 0, "memory_id": str(record.memory_id), "chunk_ids": [str(record.memory_id)]}
    ]
    assert (answer["stored_count"], answer["duplicate_count"], answer["refused_count"]) == (1, 0, 0)
    assert mnemic("retain", "x", "--json").json["duplicates"] == [
        {"index": 0, "duplicate_of": str(record.memory_id)}
    ]


def write_lines(path: Path, *lines: Any) -> Path:
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n", "utf-8")
    return path


def test_a_file_of_lines_is_remembered(mnemic: Run, memory: Memory, tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "items",
        "A text.",
        {"content": "A message.", "role": "user", "at": "2026-03-01T10:00:00Z", "tags": ["own"]},
    )
    ended = mnemic("retain", "--jsonl", path, "--conversation", "c")
    assert (ended.code, ended.err) == (0, "")
    assert contents(memory) == ["A text.", "A message."]
    assert memory.conversations.get("c").turn_count == 2


def test_options_are_the_defaults_of_a_files_lines(mnemic: Run, memory: Memory, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "items", "A text.", {"content": "Another.", "category": "procedural"})
    mnemic("retain", "--jsonl", path, "--category", "preference", "--tag", "imported")
    first, second = memory.memories.list()[::-1]
    assert (first.category, first.tags) == ("preference", ("imported",))
    assert (second.category, second.tags) == ("procedural", ("imported",))


def test_a_refused_item_is_named(mnemic: Run, memory: Memory, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "items", {"content": "x", "external_id": "e"})
    mnemic("retain", "--jsonl", path)
    memory.memories.forget(memory.memories.list()[0].memory_id)
    ended = mnemic("retain", "--jsonl", path)
    assert (ended.code, "refused 1" in ended.out) == (0, True)
    assert "item 0: It was forgotten" in " ".join(ended.out.split())


BAD_LINES = {
    "not JSON": (b'"fine"\nnot json\n', "Line 2 is not JSON"),
    "a number": (b'"fine"\n5\n', "Line 2: an item is a text or a mapping"),
    "a list": (b'["fine"]\n', "Line 1: an item is a text or a mapping"),
    "a bad field": (
        b'"fine"\n\n{"content": "x", "confidence": 1.2}\n',
        "Line 3: confidence must be a number",
    ),
    "infinity": (b'{"content": "x", "confidence": Infinity}\n', "confidence must be a finite number"),
    "nested": (b'{"content": "x", "metadata": ' + b'{"a":' * 100_000, "Line 1 is not JSON"),
    "not UTF-8": (b'"fine"\n"\xff"\n', "is not UTF-8 text"),
}


@pytest.mark.parametrize(("content", "message"), BAD_LINES.values(), ids=BAD_LINES)
def test_a_bad_line_is_named_and_nothing_is_remembered(
    mnemic: Run, memory: Memory, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "items").write_bytes(content)
    ended = mnemic("retain", "--jsonl", tmp_path / "items", "--json")
    assert (ended.code, ended.out) == (1, "")
    assert message in ended.said
    assert contents(memory) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Give either a text"),
        (("x", "--jsonl", "file"), "Give either a text"),
        (("--jsonl", "missing"), "missing cannot be read"),
        (("--jsonl", "/"), "cannot be read"),
        (("x", "--owner", ""), "owner must have 1 to 256"),
        (("x", "--tag", "t" * 65), "has 65"),
        (("x", "--url", "postgresql://x", "--data-dir", "y"), "Give either --url or --data-dir, not both."),
    ],
)
def test_bad_arguments_end_in_one_clear_message(
    mnemic: Run, memory: Memory, arguments: tuple[str, ...], message: str
) -> None:
    ended = mnemic("retain", *arguments)
    assert (ended.code, ended.out) == (1, "")
    assert ended.said.startswith("Error: ")
    assert message in ended.said
    assert contents(memory) == []


def test_an_unknown_category_is_a_usage_error_that_lists_the_known_ones(mnemic: Run, memory: Memory) -> None:
    ended = mnemic("retain", "x", "--category", "fact")
    assert (ended.code, ended.out) == (2, "")
    assert "factual" in ended.err
    assert contents(memory) == []


def test_without_an_owner_nothing_is_remembered(mnemic: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MNEMIC_OWNER")
    ended = mnemic("retain", "x")
    assert (ended.code, "No owner" in ended.said) == (1, True)


def test_embed_makes_up_for_what_failed(mnemic: Run, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    assert mnemic("embed").out.strip() == "Embedded 0 memories."
    with monkeypatch.context() as failing:
        failing.setattr(embedding, "HashedWords", lambda: HashedWords(failing=True))
        ended = mnemic("retain", "Alice lives in Berlin.")
        assert (ended.code, "run `mnemic embed` later" in " ".join(ended.out.split())) == (0, True)
        assert mnemic("retain", "Bob.", "--json").json["awaiting_embedding_count"] == 1
        ended = mnemic("embed")
        assert (ended.code, ended.out, "set to fail" in ended.said) == (1, "", True)
    assert memory.admin.stats().awaiting_embedding_count == 2
    assert mnemic("embed", "--json").json == {"embedded_count": 2}
    assert memory.admin.stats().awaiting_embedding_count == 0


def test_a_bad_item_of_a_file_is_named_by_its_line(mnemic: Run, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('"fine"\n\n{"content": 5}\n', encoding="utf-8")
    ended = mnemic("retain", "--jsonl", path)
    assert (ended.code, ended.out) == (1, "")
    assert ended.said == "Error: Line 3: content must be text, not a number. Nothing was stored."
