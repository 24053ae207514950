"""`mnemic import --from`: what other systems remember."""

import json
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from tests.cli.conftest import Run


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """Three memories of mem0's, one of which says nothing."""
    records: list[dict[str, Any]] = [
        {"id": "1", "memory": "Bob likes tea.", "user_id": "bob", "created_at": "2026-03-01T10:00:00Z"},
        {"id": "2", "memory": "Carol likes milk.", "user_id": "carol"},
        {"id": "[red]3[/]", "memory": "", "user_id": "carol"},
    ]
    path = tmp_path / "[odd] answers.json"
    path.write_text(json.dumps({"results": records}))
    return path


def test_memories_become_the_owners(mnemic: Run, memory: Memory, answers: Path) -> None:
    report = mnemic("import", answers, "--from", "mem0", "--json").json
    assert (report["imported_count"], report["skipped_count"], report["owners"]) == (2, 1, {"alice": 2})
    assert report["skipped"][0] == {
        "record": "[odd] answers.json, record 3",
        "reason": "memory is missing or empty.",
    }
    assert len(memory.memories.list()) == 2
    again = mnemic("import", answers, "--from", "mem0", "--json").json
    assert (again["imported_count"], again["known_count"]) == (0, 2)


def test_the_owners_of_the_source_can_be_kept(mnemic: Run, memory: Memory, answers: Path) -> None:
    ended = mnemic("import", answers, "--from", "mem0", "--owner-from-source", "--channel", "old")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "imported 2, known already 0, skipped 1",
        "  bob: 1",
        "  carol: 1",
        "  skipped [odd] answers.json, record 3: memory is missing or empty.",
    ]
    (record,) = memory.memories.list(owner="bob")
    assert (record.content, record.channel, record.process) == ("Bob likes tea.", "old", "cli")


def test_options_of_other_systems_need_one(mnemic: Run, answers: Path) -> None:
    for options in (["--owner", "bob"], ["--owner-from-source"], ["--channel", "x"]):
        ended = mnemic("import", answers, *options)
        assert (ended.code, ended.out, "go with --from" in ended.said) == (1, "", True)
    assert mnemic("import", answers, "--from", "zep").code == 2


def test_errors_name_the_record(mnemic: Run, memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_text('{"type": "entity", "name": "A", "entityType": "x", "observations": ["y"]}\n{"type": 1}')
    ended = mnemic("import", path, "--from", "mcp-memory")
    assert (ended.code, ended.out) == (1, "")
    assert "memory.jsonl, record 2: type must be entity or relation" in ended.said
    assert memory.memories.list() == []
    missing = mnemic("import", tmp_path / "nowhere.zip", "--from", "chatgpt")
    assert (missing.code, missing.out, "cannot be read" in missing.said) == (1, "", True)
