"""SQL lives in .sql files: no text of a query in the Python source."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import mnemic

SOURCE = Path(mnemic.__file__).parent

_SQL = re.compile(
    r"\s*(?:SELECT|INSERT INTO|UPDATE \S+ SET|DELETE FROM|MERGE INTO|WITH \w+ AS|CREATE|ALTER|DROP|TRUNCATE|"
    r"GRANT|REVOKE|COPY|CALL|DO \$|EXPLAIN|LISTEN|NOTIFY|UNLISTEN|SET (?:LOCAL|ROLE|SESSION)|BEGIN|COMMIT|"
    r"ROLLBACK|LOCK TABLE)\b"
)

# Modules that may hold some, and why.
ALLOWED = {
    "adapters/importing/mem0_store.py": "reads the SQLite files that mem0 keeps, not our database",
    "db/definitions.py": "drops functions, views, triggers and policies, whose names no parameter can be",
    "db/listen.py": "LISTEN takes an identifier, which no parameter can be; and the heartbeat",
    "db/database_swap.py": "makes and renames databases, whose names no parameter can be",
    "db/vector_index.py": "names of tables and indexes, and conditions of indexes, no parameter can be",
    "db/vectors.py": "each embedding model has a table of its own, whose name no parameter can be",
    "backup/copy_script.py": "recognizes the statements of a script that it reads and never runs",
    "backup/load.py": "copies rows into tables of the catalog, whose names no parameter can be",
    "maintenance/doctor.py": "advice in words, which begins with the statement to run",
    "govern/tenants.py": "deletes from every table in the catalog, whose names no parameter can be",
    "db/privileges.py": "makes text for an administrator to read and run, with the names of roles in it",
}


def sql_texts(source: str) -> Iterator[str]:
    """String literals that begin like a statement, docstrings and error messages aside."""
    tree = ast.parse(source)
    prose = set(_docstrings(tree)) | set(_messages(tree))
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and id(node) not in prose and _SQL.match(text):
            yield text


def _docstrings(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield id(node.value)


def _messages(tree: ast.AST) -> Iterator[int]:
    """Texts of exceptions may quote SQL for the reader."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            yield from (id(inner) for inner in ast.walk(node))


def test_only_listed_modules_contain_sql() -> None:
    files = {str(path.relative_to(SOURCE)): path.read_text() for path in SOURCE.rglob("*.py")}
    found = {name: list(sql_texts(text)) for name, text in files.items()}
    assert {name: texts for name, texts in found.items() if texts and name not in ALLOWED} == {}
    assert {name for name in ALLOWED if not found.get(name)} == set(), "these need no exception any more"


@pytest.mark.parametrize(
    "line",
    [
        'cursor.execute("SELECT 1")',
        'cursor.execute(f"INSERT INTO {table} VALUES (1)")',
        'QUERY = """\\n  DELETE FROM state.memories"""',
        'sql.SQL("CREATE TABLE {}")',
        'execute("UPDATE state.memories SET content = 1")',
    ],
)
def test_sql_would_be_noticed(line: str) -> None:
    assert list(sql_texts(line)) != []


def test_prose_is_not_sql() -> None:
    source = '"""SELECT what you need."""\nraise ValueError("GRANT mnemic_app TO you")\nx = "Select a file"'
    assert list(sql_texts(source)) == []
