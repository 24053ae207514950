"""Files, folders and archives: the right ones are read, and archives do no harm."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from mnemic.adapters.importing import files
from mnemic.adapters.importing.files import text_files
from mnemic.errors import InvalidInputError, NotFoundError

WANTED = re.compile(r"conversations(-\d+)?\.json")


def read(path: Path) -> dict[str, str]:
    return {name: file.read() for name, file in text_files(path, WANTED)}


def archive(path: Path, members: dict[str, str], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as made:
        for name, text in members.items():
            made.writestr(name, text)
    return path


def test_a_single_file_is_read_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text("[]")
    assert read(path) == {"mine.json": "[]"}


def test_of_a_folder_and_an_archive_the_right_files_are_read(tmp_path: Path) -> None:
    members = {"conversations-001.json": "[1]", "conversations-000.json": "[0]", "user.json": "{}"}
    for name, text in members.items():
        (tmp_path / name).write_text(text)
    expected = {"conversations-000.json": "[0]", "conversations-001.json": "[1]"}
    assert read(tmp_path) == expected
    assert list(read(archive(tmp_path / "export.zip", members))) == list(expected)


def test_paths_in_an_archive_have_no_effect(tmp_path: Path) -> None:
    path = archive(tmp_path / "export.zip", {"../../conversations.json": "[1]", "/etc/user.json": "{}"})
    before = sorted(tmp_path.iterdir())
    assert read(path) == {"conversations.json": "[1]"}
    assert sorted(tmp_path.iterdir()) == before
    assert not (tmp_path.parent.parent / "conversations.json").exists()


def test_a_zip_bomb_is_refused_before_it_is_read(tmp_path: Path) -> None:
    bomb = archive(tmp_path / "bomb.zip", {"conversations.json": "[" + " " * (8 << 20)})
    with pytest.raises(InvalidInputError, match="compressed by more than 200 times"):
        read(bomb)


def test_a_member_with_a_too_large_declared_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MEMBER_MAX_BYTES", 10)
    with pytest.raises(InvalidInputError, match="the limit in an archive is 10"):
        read(archive(tmp_path / "export.zip", {"conversations.json": "[" + " " * 20}))


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MEMBERS_MAX", 1)
    with pytest.raises(InvalidInputError, match="2 members"):
        read(archive(tmp_path / "export.zip", {"conversations.json": "[]", "user.json": "{}"}))


def test_damaged_and_missing_files_are_errors(tmp_path: Path) -> None:
    whole = archive(tmp_path / "export.zip", {"conversations.json": json.dumps(["x" * 5_000])})
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(whole.read_bytes()[:60])
    with pytest.raises(InvalidInputError, match="damaged ZIP archive"):
        read(damaged)
    with pytest.raises(NotFoundError, match="no member whose name matches"):
        read(archive(tmp_path / "other.zip", {"user.json": "{}"}))
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFoundError, match="no file whose name matches"):
        read(tmp_path / "empty")
    with pytest.raises(NotFoundError, match="cannot be read"):
        read(tmp_path / "missing.json")


def test_an_encrypted_member_is_an_error(tmp_path: Path) -> None:
    path = archive(tmp_path / "export.zip", {"conversations.json": "[]"}, zipfile.ZIP_STORED)
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match="encrypted"):
        read(path)
