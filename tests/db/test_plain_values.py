"""Lists of texts and rows arrive in the database as psycopg alone would send them."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from mnemic.db.plain_values import use_plain_values

TEXTS = [
    "plain",
    "",
    "null",
    "NULL",
    'quo"te',
    "back\\slash",
    '\\"',
    "a,b",
    "{x}",
    "(y)",
    " ",
    "\n",
    "'",
    "é🚣",
]
LISTS: list[list[Any]] = [TEXTS, [], ["one"], ["a", None], [None]]
ROWS: list[tuple[Any, ...]] = [
    (text, ["active", text], [], None, None, True, datetime(2026, 3, 1, 12, 30, 1, 5, UTC)) for text in TEXTS
]
ROWS += [(None, TEXTS, ["x"], datetime(2026, 3, 1, tzinfo=UTC), 0.25, False, None)]
ROW_TYPE = (
    "CREATE TYPE pg_temp.mixed AS (a text, b text[], c text[], d timestamptz, e real, f bool, g timestamptz)"
)


@pytest.fixture
def plain(admin_conninfo: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection with the dumpers."""
    with psycopg.connect(admin_conninfo, autocommit=True) as connection:
        connection.execute(ROW_TYPE)
        use_plain_values(connection)
        yield connection


def test_lists_of_texts_arrive_unchanged(plain: psycopg.Connection[Any]) -> None:
    for given in LISTS:
        row = plain.execute("SELECT %s::text[]", [given]).fetchone()
        assert row == (given,)
    assert plain.execute("SELECT 'b' = ANY(%s)", [["a", "b"]]).fetchone() == (True,)
    assert plain.execute("SELECT %s::text[] || %s::text[]", [["a"], ["b\\"]]).fetchone() == (["a", "b\\"],)


def test_other_lists_are_written_by_psycopg(plain: psycopg.Connection[Any]) -> None:
    assert plain.execute("SELECT %s::int[], %s::text[]", [[1, 2], [["a"], ["b"]]]).fetchone() == (
        [1, 2],
        [["a"], ["b"]],
    )


def test_rows_arrive_unchanged(plain: psycopg.Connection[Any]) -> None:
    for given in ROWS:
        row = plain.execute("SELECT (given).* FROM (SELECT %s::pg_temp.mixed AS given) AS sent", [given])
        assert row.fetchone() == given


def test_a_nul_character_is_refused_as_without_them(plain: psycopg.Connection[Any]) -> None:
    for given, kind in ((["a\0"], "text[]"), (("a\0", None, None, None, None, None, None), "pg_temp.mixed")):
        with pytest.raises(psycopg.DataError, match="NUL"):
            plain.execute(f"SELECT %s::{kind}", [given])
