"""`mnemic export`, `import`, `backup` and `restore`."""

import json
from pathlib import Path
from uuid import uuid4

import pytest

from mnemic import Memory
from mnemic.db.embedded import stop
from mnemic.models import embedding
from mnemic.models.testing import HashedWords
from tests.cli.conftest import Run


def contents(memory: Memory, owner: str = "alice") -> list[str]:
    return [record.content for record in memory.memories.list(owner=owner)][::-1]


def test_an_owner_moves_to_another_tenant(mnemic: Run, memory: Memory, folder: Path, tmp_path: Path) -> None:
    memory.retain(["One.", "Two."], owner="bob")
    memory.retain("Mine.")
    exported = mnemic("export", tmp_path / "bob.jsonl", "--owner", "bob", "--json").json["rows"]
    assert exported["state.memories"] == 2
    elsewhere = f"tenant {uuid4()}"
    answer = mnemic("import", tmp_path / "bob.jsonl", "--tenant", elsewhere, "--json").json
    assert (answer["rows"], answer["awaiting_embedding_count"]) == ({"state.memories": 2}, 0)
    assert mnemic("import", tmp_path / "bob.jsonl", "--tenant", elsewhere, "--json").json["rows"] == {
        "state.memories": 0
    }
    with Memory(data_dir=folder, tenant=elsewhere, embedder="test") as there:
        assert contents(there, "bob") == ["One.", "Two."]


def test_people_see_a_table_of_what_was_moved(mnemic: Run, memory: Memory, tmp_path: Path) -> None:
    memory.retain("One.")
    ended = mnemic("export", tmp_path / "alice.jsonl")
    assert (ended.code, ended.err) == (0, "")
    assert ["state.memories", "1"] in [line.split() for line in ended.out.splitlines()]
    ended = mnemic("import", tmp_path / "alice.jsonl", "--tenant", f"tenant {uuid4()}")
    assert ["state.memories", "1"] in [line.split() for line in ended.out.splitlines()]


def test_an_import_that_could_not_be_embedded_says_so(
    mnemic: Run, memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.retain("One.")
    mnemic("export", tmp_path / "alice.jsonl")
    monkeypatch.setattr(embedding, "HashedWords", lambda: HashedWords(failing=True))
    ended = mnemic("import", tmp_path / "alice.jsonl", "--tenant", f"tenant {uuid4()}")
    assert (ended.code, "run `mnemic embed` later" in " ".join(ended.out.split())) == (0, True)


def test_a_file_is_replaced_only_on_request(mnemic: Run, memory: Memory, tmp_path: Path) -> None:
    for command in ("export", "backup"):
        path = tmp_path / command
        path.write_text("precious")
        ended = mnemic(command, path)
        assert (ended.code, ended.out, "exists already" in ended.said) == (1, "", True)
        assert path.read_text() == "precious"
        assert mnemic(command, path, "--replace").code == 0
        assert path.read_bytes() != b"precious"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("export", "missing/file"), "cannot be written"),
        (("import", "missing"), "cannot be read"),
        (("import", "/dev/null"), "The export is empty"),
        (("backup", "missing/file"), "cannot be written"),
        (("restore", "missing"), "cannot be read"),
        (("restore", "/dev/null", "--replace"), "is not a backup"),
        (("export", "file", "--owner", "\n"), "owner must have"),
    ],
)
def test_bad_files_end_in_one_clear_message(
    mnemic: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = mnemic(*arguments)
    assert (ended.code, ended.out) == (1, "")
    assert ended.said.startswith("Error: ")
    assert message in ended.said
    assert list(tmp_path.iterdir()) == []


def test_a_backup_is_restored_into_a_new_folder(
    mnemic: Run, memory: Memory, memory_dir: Path, tmp_path: Path, tenant: str
) -> None:
    memory.retain("In the backup.")
    (tmp_path / "[").mkdir()
    # What looks like markup, and is longer than a line.
    path, folder = tmp_path / "[" / f"red] [bold]{'x' * 100}", memory_dir / str(uuid4())
    ended = mnemic("backup", path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"{path}: ")
    ended = mnemic("restore", path, "--data-dir", folder)
    assert (ended.code, ended.out.strip(), ended.err) == (0, f"Restored {path}.", "")
    with Memory(data_dir=folder, tenant=tenant, owner="alice", embedder="test") as restored:
        assert contents(restored) == ["In the backup."]
        ended = mnemic("restore", path, "--data-dir", folder)
        assert (ended.code, ended.out, "already" in ended.said) == (1, "", True)
    assert mnemic("restore", path, "--data-dir", folder, "--replace", "--json").json == {
        "restored": str(path)
    }
    assert stop(folder)


def test_a_backup_as_json(mnemic: Run, memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "backup"
    assert mnemic("backup", path, "--json").json == {"path": str(path), "size_bytes": path.stat().st_size}


def test_an_export_is_what_the_docs_say(mnemic: Run, memory: Memory, tmp_path: Path) -> None:
    memory.retain("One.")
    mnemic("export", tmp_path / "file")
    first, *lines = (tmp_path / "file").read_text().splitlines()
    assert json.loads(first) == {"format": "mnemic-export", "version": 1, "owner": "alice"}
    assert "state.memories" in {json.loads(line)["table"] for line in lines}
