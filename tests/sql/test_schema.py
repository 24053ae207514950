"""src/mnemic/sql/schema.sql shows what migrations and definitions make."""

import os

import pytest

from tests.postgres_binaries import VARIABLE
from tools.generate_schema import TARGET, schema_of


@pytest.mark.skipif(VARIABLE in os.environ, reason="pg_dump writes it differently for another server")
def test_the_checked_in_schema_is_that_of_a_new_database(admin_conninfo: str) -> None:
    assert schema_of(admin_conninfo) == TARGET.read_text("utf-8"), "out of date: run `make generate`"
