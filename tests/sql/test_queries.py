"""The named queries: documented, used, and accepted by PostgreSQL."""

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest

import mnemic
from mnemic.sdk.job_table import JOBS
from mnemic.sql import queries
from tests.conftest import AppConnection

SOURCE = Path(mnemic.__file__).parent
QUERY_FILES = sorted((SOURCE / "sql" / "queries").glob("*.sql"))

# Modules that name calls of the SDK or types of events, which look like names of queries. None runs a query.
NAME_CALLS = {
    SOURCE / name
    for name in (
        "sdk/http/client.py",
        "sdk/http/surface.py",
        "server/auditing.py",
        "server/descriptions.py",
        "server/guarded_memory.py",
        "server/routes.py",
        "server/stream.py",
        "types/event.py",
    )
} | set((SOURCE / "sdk" / "groups").glob("*.py")) | set((SOURCE / "dashboard").rglob("*.py"))  # fmt: skip

_PARAMETER = re.compile(r"%\((?P<name>\w+)\)s")
_QUERY_NAME = re.compile(r"(?P<file>[a-z_]+)\.[a-z_]+")
_NAME_LINE = re.compile(r"^-- name: (?P<name>\w+)$")

# What PostgreSQL cannot PREPARE. Each is run by the test below instead, in a transaction that is rolled
# back, or is too special even for that.
UTILITY = re.compile(r"^(?:--.*\n)*(?:DO|GRANT|REVOKE|CALL|CREATE|BEGIN|CLOSE|COMMIT|SET|LOCK)\b")
OUTSIDE_TRANSACTIONS = {
    "provision.make_database": "does not run in a transaction; opening the embedded server runs it",
    "session.begin": "begins a transaction itself; every test of a transaction runs it",
    "session.begin_snapshot": "begins a transaction itself",
    "session.commit_and_clean": "ends the transaction; every test of a transaction runs it",
    "session.clean": "ends with DISCARD, which is about the session; the tests of cleaning run it",
}
# A value for each parameter of the utility statements, which cannot be had as NULL.
VALUES = {
    "login": "mnemic_login_of_a_test",
    "verifier": "SCRAM-SHA-256$4096:c2FsdA==$" + "A" * 43 + "=:" + "A" * 43 + "=",
}


@pytest.fixture
def migrated(shared_admin: AppConnection) -> Iterator[AppConnection]:
    """A migrated database with the application's search path, in a transaction that is rolled back."""
    shared_admin.execute("BEGIN; SET LOCAL search_path = pg_catalog, pg_temp")
    yield shared_admin
    shared_admin.execute("ROLLBACK; DEALLOCATE ALL")


def prepared(text: str) -> str:
    """The query with $1, $2 … for its parameters, and a doubled per cent sign as one."""
    names = list(dict.fromkeys(_PARAMETER.findall(text)))
    numbered = _PARAMETER.sub(lambda match: f"${names.index(match['name']) + 1}", text)
    return numbered.replace("%%", "%") if names else text


def is_utility(name: str) -> bool:
    return UTILITY.match(queries()[name]) is not None


def test_postgresql_prepares_every_query(migrated: AppConnection) -> None:
    for name in queries():
        if not is_utility(name):
            with refusal_named(name):
                migrated.execute(f'PREPARE "{name}" AS {prepared(queries()[name])}'.encode())


def test_postgresql_runs_every_utility_statement(migrated: AppConnection) -> None:
    for name in queries():
        if is_utility(name) and name not in OUTSIDE_TRANSACTIONS:
            parameters = {each: VALUES.get(each) for each in _PARAMETER.findall(queries()[name])}
            with refusal_named(name), migrated.transaction(force_rollback=True):
                migrated.execute(queries()[name].encode(), parameters or None)


@contextmanager
def refusal_named(name: str) -> Iterator[None]:
    """Say which query PostgreSQL refuses."""
    try:
        yield
    except psycopg.Error as error:
        error.add_note(f"in the query {name}")
        raise


@pytest.mark.parametrize(
    "wrong",
    ["SELECT no_such_column FROM state.tenants", "SELECT FROM state.no_such_table", "SELECT FROM FROM"],
)
def test_a_query_that_is_wrong_would_be_noticed(wrong: str, migrated: AppConnection) -> None:
    with pytest.raises(psycopg.ProgrammingError):
        migrated.execute(f"PREPARE accepted AS {prepared(wrong)}".encode())


def test_what_cannot_be_run_here_exists() -> None:
    assert OUTSIDE_TRANSACTIONS.keys() <= {name for name in queries() if is_utility(name)}


def test_every_query_says_what_it_returns_and_why() -> None:
    for path in QUERY_FILES:
        check_sentences(path)


def check_sentences(path: Path) -> None:
    lines = path.read_text().splitlines()
    undocumented = [
        line
        for line, following in pairwise(lines)
        if _NAME_LINE.match(line) and not re.match(r"^-- [A-Z].{10,}", following)
    ]
    assert undocumented == [], path.name
    assert lines[0].startswith("-- "), "a file begins with a sentence about what it holds"
    for part in re.split(r"^-- name: ", path.read_text(), flags=re.MULTILINE)[1:]:
        comment = re.match(r"(?:.*\n)(?P<comment>(?:--.*\n)+)", part)
        assert comment is not None
        assert comment["comment"].rstrip().endswith((".", ")", ":")), (
            f"not a sentence: {part.splitlines()[0]}"
        )


def test_every_query_is_used_and_every_used_one_exists() -> None:
    named = _names_in_source()
    files = {name.partition(".")[0] for name in queries()}
    wanted = {name for name in named.whole if _QUERY_NAME.fullmatch(name) and name.partition(".")[0] in files}
    assert wanted - {job_type.type for job_type in JOBS.types} <= queries().keys()
    assert {name for name in queries() if name not in wanted and not named.puts_together(name)} == set()


@dataclass
class Names:
    """String literals of the source: whole ones, beginnings and ends of those that are put together."""

    whole: set[str] = field(default_factory=set)
    beginnings: set[str] = field(default_factory=set)
    ends: set[str] = field(default_factory=set)

    def puts_together(self, name: str) -> bool:
        """Whether the source has f"file.begin{…}", or f"{…}.end" and the file's name."""
        file, _, rest = name.partition(".")
        return any(name.startswith(start) for start in self.beginnings if start.startswith(f"{file}.")) or (
            file in self.whole and f".{rest}" in self.ends
        )


def _names_in_source() -> Names:
    names = Names()
    for path in set(SOURCE.rglob("*.py")) - NAME_CALLS:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.whole.add(node.value)
            if isinstance(node, ast.JoinedStr) and node.values:
                first, last = node.values[0], node.values[-1]
                names.beginnings |= {str(first.value)} if isinstance(first, ast.Constant) else set()
                names.ends |= {str(last.value)} if isinstance(last, ast.Constant) else set()
    names.whole -= names.beginnings
    return names
