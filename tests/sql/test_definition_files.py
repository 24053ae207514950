"""The files of definitions: named after what is in them, in an order that they declare."""

import re
from pathlib import Path

import pytest

from mnemic.errors import ConfigurationError
from mnemic.sql.definition_files import Definition, in_order, read_definitions
from mnemic.sql.migration_files import all_definitions, all_migrations

NOT_IN_MIGRATIONS = re.compile(
    r"^CREATE (OR REPLACE )?(FUNCTION|PROCEDURE|VIEW|TRIGGER|POLICY)", re.MULTILINE
)
REPEATABLE = re.compile(r"^CREATE (?!OR REPLACE|POLICY)", re.MULTILINE)


def definition(name: str, *header: str) -> Definition:
    return Definition("extra", name, "".join(f"-- {line}\n" for line in header) + "SELECT 1;")


def test_an_earlier_stage_comes_first_and_then_what_is_needed() -> None:
    given = (
        definition("a/first", "needs: z/last, b/second"),
        definition("b/second", "needs: z/last"),
        definition("z/last"),
        definition("x/early", "stage: before tables"),
    )
    assert [item.name for item in in_order(given)] == ["x/early", "z/last", "b/second", "a/first"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((definition("a/one", "needs: a/none"),), "a/one needs 'a/none'"),
        (
            (definition("a/one", "needs: a/two"), definition("a/two", "stage: before tables")),
            "a/one needs 'a/two'",
        ),
        ((definition("a/one", "needs: a/two"), definition("a/two", "needs: a/one")), "circle: a/"),
        ((definition("a/one", "stage: during tables"),), "stage 'during tables'"),
    ],
    ids=["unknown", "of another stage", "circular", "unknown stage"],
)
def test_an_order_that_cannot_be_is_an_error(given: tuple[Definition, ...], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        in_order(given)


def test_a_set_without_definitions_has_none(tmp_path: Path) -> None:
    assert read_definitions("extra", tmp_path / "definitions") == ()


def test_a_function_or_view_is_in_the_file_of_its_name() -> None:
    for item in all_definitions():
        subject, name = item.name.split("/")
        named = [created.split(".")[1] for created in item.objects if created.startswith(("ROUTINE", "VIEW"))]
        assert named == ([] if subject == "policies" else [name]), item.label
        assert item.objects, item.label


def test_policies_are_in_the_file_of_their_table() -> None:
    for item in all_definitions():
        subject, name = item.name.split("/")
        tables = {created.rsplit(".")[-1] for created in item.objects if created.startswith("POLICY")}
        assert tables == ({name} if subject == "policies" else set()), item.label


def test_every_file_says_what_it_is_for() -> None:
    for item in all_definitions():
        lines = [line for line in item.sql.splitlines() if not line.startswith(("-- stage:", "-- needs:"))]
        assert lines[0].startswith("-- "), item.label


def test_every_file_can_be_applied_again() -> None:
    for item in all_definitions():
        assert not REPEATABLE.search(item.sql), item.label
        for created in item.objects:
            assert (
                not created.startswith("POLICY")
                or f"DROP {created.replace('POLICY', 'POLICY IF EXISTS')};" in item.sql
            )


def test_migrations_hold_no_definitions() -> None:
    for migration in all_migrations():
        assert not NOT_IN_MIGRATIONS.search(migration.sql), migration.label
