"""The numbered files of a set: complete, in order, known by their content."""

from pathlib import Path

import pytest

from mnemic.errors import ConfigurationError
from mnemic.sql.migration_files import Migration, all_migrations, read_set


def write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).write_text(f"SELECT '{name}'")
    return folder


def test_files_are_read_in_order_and_other_files_are_ignored(tmp_path: Path) -> None:
    write(tmp_path, "0002_then.sql", "0001_first.sql", "README.md", "0003_draft.sql.orig", "__init__.py")
    found = list(read_set("extra", tmp_path))
    assert [migration.label for migration in found] == ["extra/0001_first", "extra/0002_then"]
    assert found[0].sql == "SELECT '0001_first.sql'"


@pytest.mark.parametrize(
    "names",
    [
        ("0002_second.sql",),
        ("0001_first.sql", "0003_third.sql"),
        ("0000_zeroth.sql", "0001_first.sql"),
        ("0001_first.sql", "0001_twin.sql"),
    ],
    ids=["no first", "a gap", "a zero", "a twin"],
)
def test_numbers_that_do_not_run_from_one_without_gaps_are_an_error(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigurationError, match="numbered"):
        list(read_set("extra", write(tmp_path, *names)))


def test_every_edit_changes_the_checksum() -> None:
    assert Migration("extra", 1, "x", "SELECT 1").checksum != Migration("extra", 1, "x", "SELECT 1;").checksum


def test_our_own_set_is_installed_and_complete() -> None:
    ours = [migration for migration in all_migrations() if migration.set_name == "mnemic"]
    assert [migration.number for migration in ours] == list(range(1, len(ours) + 1))
    assert ours[0].label == "mnemic/0001_tenancy"
