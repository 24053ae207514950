"""The current code opens the data of every earlier version since the first fixture.

`tools/make_version_fixture.py` makes a fixture with the sources of an earlier commit, by what
`tools/version_contents.py` writes.
"""

import asyncio
import lzma
import os
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from mnemic import Memory
from mnemic.backup.dump import back_up
from mnemic.backup.restore import restore_storage
from mnemic.config import load_settings
from mnemic.db.access import DATABASE_NAME
from mnemic.db.database_swap import drop_database, make_database
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.db.migrate import read_status
from mnemic.db.tenancy import SigningKey
from mnemic.maintenance.as_is import back_up_as_is, export_as_is, schema_mismatch
from mnemic.sql import query
from mnemic.types.scope import Scope
from tests.conftest import LIMITS
from tests.db.whole_catalog import whole_catalog
from tests.running_folder import running
from tools.freeze_migrations import FOLDER, frozen
from tools.version_contents import JOB_FILE, TURNS

_ALL_FIXTURES = sorted((Path(__file__).parent / "versions").glob("*.sql.xz"))
# The oldest runs every migration, and the newest is the one that most users come from. Those between take
# 10 s each: make test-slow.
FIXTURES = _ALL_FIXTURES if "SLOW_TESTS" in os.environ else [_ALL_FIXTURES[0], _ALL_FIXTURES[-1]]
FIRST_WITH_CONSENT = "0016"
JOB_TIMEOUT_S = 120.0

# A client other than psql does not know these; the setting is missing in servers before 17.
_FOREIGN_LINES = re.compile(rb"^(\\(un)?restrict .*|SET transaction_timeout = .*)$", re.MULTILINE)
# Tables that are made at run time: of embedding models, and days of the memory log.
_MADE_AT_RUN_TIME = re.compile(r"\b(vectors\.model_[0-9a-f]+|traces\.memory_log_\d{8})")


@pytest.fixture(scope="module")
def own_server(memory_dir: Path) -> Iterator[EmbeddedServer]:
    """The server of a data folder of these tests, whose database each fixture replaces."""
    for data_dir in running(memory_dir / "earlier versions"):
        with EmbeddedServer.start(data_dir) as server:
            yield server


@pytest.fixture(scope="module")
def new_catalog(own_server: EmbeddedServer) -> dict[str, str]:
    """The catalog of a new database on that server."""
    with psycopg.connect(own_server.conninfo(user=ADMIN_ROLE, dbname=DATABASE_NAME)) as connection:
        return comparable(whole_catalog(connection))


def load(server: EmbeddedServer, fixture: Path) -> str:
    """Replace the folder's database by a fixture; returns the administrator's connection string."""
    maintenance = server.conninfo(user=ADMIN_ROLE, dbname="postgres")
    asyncio.run(drop_database(maintenance, DATABASE_NAME, LIMITS))
    asyncio.run(make_database(maintenance, DATABASE_NAME, LIMITS))
    conninfo = server.conninfo(user=ADMIN_ROLE, dbname=DATABASE_NAME)
    with psycopg.connect(conninfo) as connection:
        connection.execute(query("provision.make_app_role"))
        connection.execute(query("provision.make_definer_role"))
        connection.execute(_FOREIGN_LINES.sub(b"", lzma.decompress(fixture.read_bytes())))
        # Roles belong to the server, so the dump has no login.
        (secret,) = connection.execute(query("session.signing_key")).fetchone() or (b"",)
        key = SigningKey(secret)
        connection.execute(
            query("provision.make_login"), {"login": key.login, "verifier": key.login_password}
        )
    return conninfo


def test_every_fixture_opens_with_its_data_recall_jobs_and_the_catalog_of_a_new_database(
    own_server: EmbeddedServer, new_catalog: dict[str, str], subtests: pytest.Subtests
) -> None:
    for fixture in FIXTURES:
        with subtests.test(fixture.name):
            conninfo = load(own_server, fixture)
            for tenant in ("default", "acme"):
                check_contents(own_server.data_dir, tenant)
                if fixture.name < FIRST_WITH_CONSENT:
                    check_grant(own_server.data_dir, tenant)
            with psycopg.connect(conninfo) as connection:
                found = comparable(whole_catalog(connection))
            differing = {name for name in found | new_catalog if found.get(name) != new_catalog.get(name)}
            assert differing == set()
            assert asyncio.run(read_status(conninfo, LIMITS)).is_current


def test_a_backup_of_every_fixture_is_restored_and_migrated(
    own_server: EmbeddedServer, new_catalog: dict[str, str], tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """The tables are created as the backup's version had them, filled, and then migrated."""
    settings = load_settings(data_dir=own_server.data_dir)
    for fixture in FIXTURES:
        with subtests.test(fixture.name):
            conninfo = load(own_server, fixture)
            asyncio.run(back_up(conninfo, tmp_path / "backup", replace=True))
            asyncio.run(restore_storage(settings, tmp_path / "backup", replace=True))
            check_contents(own_server.data_dir, "acme")
            with psycopg.connect(conninfo) as connection:
                found = comparable(whole_catalog(connection))
            differing = {name for name in found | new_catalog if found.get(name) != new_catalog.get(name)}
            assert differing == set()


def comparable(catalog: dict[str, str]) -> dict[str, str]:
    """Without tables of run time, and without parentheses: loading a dump nests conditions differently."""
    return {
        name: description.replace("(", "").replace(")", "")
        for name, description in catalog.items()
        if not _MADE_AT_RUN_TIME.search(name)
    }


def check_contents(data_dir: Path, tenant: str) -> None:
    with Memory(data_dir=data_dir, tenant=tenant, owner="alice", embedder="test") as memory:
        contents = {record.content for record in memory.memories.list()}
        assert {"Alice plays the cello.", "Alice works at the lighthouse."} <= contents
        assert "Bob breeds bees." not in contents
        assert "Alice is allergic to walnuts." not in contents
        assert [record.content for record in memory.memories.list(owner="bob")] == ["Bob breeds bees."]
        assert [turn.content for turn in memory.conversations.turns("moving")] == [
            turn["content"] for turn in TURNS
        ]
        plan = memory.state.get("plan")
        assert plan is not None
        assert plan.document == {"step": 3}
        assert memory.entities.get("person", "Dr. Okafor").facts == {"profession": "dentist"}
        assert "weekly" in {schedule.name for schedule in memory.schedules.list()}
        assert "Alice plays the cello." in memory.recall("Alice plays the cello").text
        assert [grant.granted_to for grant in memory.shares.list()] == ["bob"]
        check_job(memory)
        memory.retain("Written after the upgrade.")


def check_grant(data_dir: Path, tenant: str) -> None:
    """A grant from before readers had to accept them stays in effect."""
    with Memory(data_dir=data_dir, tenant=tenant, owner="bob", embedder="test") as memory:
        assert "Alice plays the cello." in memory.recall("Alice plays the cello").text


def check_job(memory: Memory) -> None:
    """The document whose ingestion waited is ingested by this version."""
    (waiting,) = memory.jobs.list(type="documents.ingest")
    memory.jobs.wait(waiting.job_id, timeout_s=JOB_TIMEOUT_S)
    assert memory.documents.chunks(JOB_FILE)
    assert "quince" in memory.recall("Where is the quince tree?").text


def test_a_fixture_is_backed_up_and_exported_without_migrating_it(
    own_server: EmbeddedServer, tmp_path: Path
) -> None:
    oldest = FIXTURES[0]
    conninfo = load(own_server, oldest)
    before = asyncio.run(read_status(conninfo, LIMITS))
    settings = load_settings(data_dir=own_server.data_dir)

    async def save() -> dict[str, int]:
        async with schema_mismatch(settings) as mismatch:
            assert (mismatch is None) is before.is_current
            await back_up_as_is(settings, tmp_path / "all.backup", replace=False)
            scope = Scope("alice", "_global", "cli")
            return await export_as_is(settings, scope, tmp_path / "alice.jsonl", replace=False)

    rows = asyncio.run(save())
    assert rows["state.memories"] >= len(TURNS)
    assert "Alice works at the lighthouse." in (tmp_path / "alice.jsonl").read_text()
    assert asyncio.run(read_status(conninfo, LIMITS)) == before


def test_every_fixture_has_migrations_that_are_still_frozen(subtests: pytest.Subtests) -> None:
    """A migration whose file and line in the list were both edited would be noticed here."""
    for fixture in FIXTURES:
        with subtests.test(fixture.name):
            text = lzma.decompress(fixture.read_bytes()).decode()
            recorded = dict(re.findall(r"^\t\('mnemic', (\d+), '\w+', '([0-9a-f]{64})'", text, re.MULTILINE))
            assert len(recorded) >= 15
            numbered = {str(int(name[:4])): checksum for name, checksum in frozen(FOLDER).items()}
            assert recorded.items() <= numbered.items()


def test_there_is_a_fixture_of_the_first_version() -> None:
    assert FIXTURES[0].name.startswith("0015_")
