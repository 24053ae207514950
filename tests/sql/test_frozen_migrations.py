"""A committed migration is frozen: its checksum is in a list to which lines are only appended."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tools import freeze_migrations
from tools.freeze_migrations import FOLDER, LIST_NAME, append_new, frozen, main, unlisted, violations


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two frozen migrations."""
    (tmp_path / "0001_first.sql").write_text("SELECT 1")
    (tmp_path / "0002_second.sql").write_text("SELECT 2")
    append_new(tmp_path)
    return tmp_path


def test_every_migration_of_this_repository_is_frozen_and_unchanged() -> None:
    assert violations(FOLDER) == []
    assert unlisted(FOLDER) == {}, "run `make generate`"
    assert len(frozen(FOLDER)) >= 15


def test_a_new_migration_appends_a_line_and_keeps_the_others(folder: Path) -> None:
    before = (folder / LIST_NAME).read_text()
    (folder / "0003_third.sql").write_text("SELECT 3")
    assert append_new(folder) == ["0003_third.sql"]
    after = (folder / LIST_NAME).read_text()
    assert after.startswith(before)
    assert after.count("\n") == 3
    assert append_new(folder) == []
    assert violations(folder) == []


def test_a_frozen_migration_cannot_be_edited_removed_or_renumbered(
    folder: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    first, listed = folder / "0001_first.sql", folder / LIST_NAME
    changes: dict[str, Callable[[], object]] = {
        "edited": lambda: first.write_text("SELECT 1;"),
        "removed": first.unlink,
        "renumbered": lambda: first.rename(folder / "0003_first.sql"),
        "renamed": lambda: first.rename(folder / "0001_other.sql"),
        "doubled": lambda: (folder / "0002_inserted.sql").write_text("SELECT 1"),
    }
    monkeypatch.setattr(freeze_migrations, "FOLDER", folder)
    before = listed.read_text()
    for name, change in changes.items():
        with subtests.test(name):
            change()
            assert violations(folder)
            assert main([]) == 1, "it must not append while a frozen migration differs"
            assert listed.read_text() == before
        for path in folder.glob("*.sql"):
            path.unlink()
        first.write_text("SELECT 1")
        (folder / "0002_second.sql").write_text("SELECT 2")
    assert violations(folder) == []
