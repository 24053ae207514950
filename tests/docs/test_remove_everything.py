"""The SQL of the page on removing everything leaves nothing of Mnemic on a PostgreSQL server."""

import re
from pathlib import Path

import pytest

from mnemic import Memory
from mnemic.db.migrate import migrate
from tests.conftest import LIMITS
from tests.password_server import PasswordServer

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "remove-everything.md"
BLOCK = re.compile(r"^```sql (\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OURS = """
    SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema$|public$)'
    UNION ALL SELECT rolname FROM pg_roles WHERE rolname LIKE 'mnemic%'
"""


@pytest.mark.parametrize("way", ["database", "schemas"])
async def test_neither_schemas_nor_roles_are_left(way: str, password_server: PasswordServer) -> None:
    blocks = dict(BLOCK.findall(PAGE.read_text("utf-8")))
    password_server.execute("CREATE DATABASE memory")
    try:
        await migrate(password_server.url(dbname="memory"), LIMITS)
        with Memory(password_server.url(dbname="memory"), owner="alice", embedder="test") as memory:
            memory.retain("Alice plays the cello.")
        for name in (way, "roles"):
            password_server.execute(blocks[name], dbname="memory" if name == "schemas" else "postgres")
        left = "postgres" if way == "database" else "memory"
        with password_server.connect(dbname=left) as connection:
            assert connection.execute(OURS).fetchall() == []
    finally:
        password_server.execute("DROP DATABASE IF EXISTS memory WITH (FORCE)")
