"""The commands work against a server by the same option, with the key from the environment."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic import Memory
from tests.cli.conftest import Run
from tests.server.running import RunningServer, running_server


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[RunningServer]:
    with running_server(folder) as server:
        yield server


@pytest.fixture
def url(served: RunningServer, tenant: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The server's URL; the key of the test's tenant is in the environment."""
    monkeypatch.setenv("MNEMIC_API_KEY", served.create_key(tenant, "admin").key)
    return served.url


def test_what_is_retained_by_a_server_is_recalled_from_it(mnemic: Run, url: str, memory: Memory) -> None:
    stored = mnemic("retain", "Alice moved to Berlin.", "--url", url, "--json")
    assert (stored.code, stored.json["stored_count"]) == (0, 1), stored.err
    found = mnemic("recall", "Berlin", "--url", url, "--json")
    assert [hit["memory"]["content"] for hit in found.json["hits"]] == ["Alice moved to Berlin."]
    assert [record.process for record in memory.memories.list()] == ["cli"]


def test_a_file_of_items_goes_to_a_server(mnemic: Run, url: str, tmp_path: Path, memory: Memory) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text(
        "".join(json.dumps({"content": f"Fact {number}"}) + "\n" for number in range(50)), "utf-8"
    )
    done = mnemic("retain", "--jsonl", items, "--url", url)
    assert done.code == 0, done.err
    assert len(memory.memories.list(limit=1000)) == 50


def test_an_export_of_a_server_is_written_here(mnemic: Run, url: str, tmp_path: Path, memory: Memory) -> None:
    memory.retain(["One", "Two"], owner="bob")
    exported = mnemic("export", tmp_path / "bob.jsonl", "--owner", "bob", "--url", url, "--json")
    assert exported.code == 0, exported.err
    assert exported.json["rows"]["state.memories"] == 2
    head, *lines = [json.loads(line) for line in (tmp_path / "bob.jsonl").read_text("utf-8").splitlines()]
    assert (head["owner"], len(lines)) == ("bob", sum(exported.json["rows"].values()))


def test_what_needs_the_database_itself_says_so(mnemic: Run, url: str, tmp_path: Path) -> None:
    for command in (["backup", tmp_path / "b"], ["import", tmp_path / "e"], ["migrate"], ["index"]):
        ended = mnemic(*command, "--url", url)
        assert ended.code == 1, command
        assert "Traceback" not in ended.err
        assert "server" in ended.said or "machine" in ended.said, ended.said
    assert list(tmp_path.iterdir()) == []


def test_without_a_key_it_says_where_one_goes(
    mnemic: Run, served: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MNEMIC_API_KEY", raising=False)
    ended = mnemic("recall", "x", "--url", served.url)
    assert ended.code == 1
    assert "MNEMIC_API_KEY" in ended.said


def test_a_wrong_key_is_not_repeated(
    mnemic: Run, served: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_API_KEY", "mn_wrong")
    ended = mnemic("recall", "x", "--url", served.url)
    assert ended.code == 1
    assert "mn_wrong" not in ended.err + ended.out
