"""src/mnemic/sql/schema.sql shows what migrations and definitions make."""

from tools.generate_schema import TARGET, schema_of


def test_the_checked_in_schema_is_that_of_a_new_database(admin_conninfo: str) -> None:
    assert schema_of(admin_conninfo) == TARGET.read_text("utf-8"), "out of date: run `make generate`"
