"""Backup and restore on a server of one's own, with passwords; and from one kind of place to the other."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from mnemic.backup.restore import restore_storage
from mnemic.config import Settings, load_settings
from mnemic.db.connection import Limits
from mnemic.db.migrate import migrate
from mnemic.errors import ConflictError, DatabaseError, MnemicError
from mnemic.maintenance.doctor import diagnose
from mnemic.sdk.memory import AsyncMemory
from tests.backup.everything import fill
from tests.fresh_tenants import Rows, contents
from tests.opened import core_of
from tests.password_server import PasswordServer
from tests.unsteady_engine import Unsteady


class OwnDatabases:
    """Makes databases on the password server, and users of it."""

    def __init__(self, server: PasswordServer) -> None:
        self.server = server
        self._made: list[str] = []
        self._migrated: str | None = None

    def make(self, owner: str = "postgres", template: str = "template1") -> str:
        """The name of a new database, which is empty without a template."""
        name = f"memory {uuid4()}"
        self.server.execute(f'CREATE DATABASE "{name}" OWNER "{owner}" TEMPLATE "{template}"')
        self._made.append(name)
        return name

    async def make_migrated(self) -> str:
        if self._migrated is None:
            self._migrated = self.make()
            await migrate(self.server.url(dbname=self._migrated), Limits())
        return self.make(template=self._migrated)

    def drop_all(self) -> None:
        for name in self._made:
            self.server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="module")
def own(password_server: PasswordServer) -> Iterator[OwnDatabases]:
    databases = OwnDatabases(password_server)
    yield databases
    databases.drop_all()


def all_rows(server: PasswordServer, dbname: str) -> dict[str, list[str]]:
    """Every row of the tenant `default` in every table, as text, but for the audit log."""
    with server.connect(dbname=dbname) as connection:
        rows = Rows(connection)
        tenant_id = rows.value("SELECT tenant_id FROM state.tenants WHERE name = 'default'")
        return {
            table: sorted(
                str(row)
                for (row,) in rows.select(f"SELECT t::text FROM {table} AS t WHERE tenant_id = %s", tenant_id)
            )
            for table in rows.counts(tenant_id)  # type: ignore[arg-type]
            if table != "traces.audit_log"
        }


async def use(settings: Settings) -> None:
    """Whatever needs the roles works."""
    report = await diagnose(settings)
    assert report.healthy, report
    async with AsyncMemory(
        settings=settings, owner="bob", embedder=Unsteady(40, name=f"test:{uuid4()}")
    ) as memory:
        (memory_id,) = (await memory.retain("A new fact.")).memory_ids
        await memory.memories.update(memory_id, content="A newer fact.")
        assert (await memory.admin.erase("bob")).rows["state.memory_versions"] == 1


async def test_a_backup_of_a_url_is_restored_into_an_empty_database(
    own: OwnDatabases, tmp_path: Path
) -> None:
    old, new = await own.make_migrated(), own.make()
    engine = Unsteady()
    async with AsyncMemory(own.server.url(dbname=old), owner="alice", embedder=engine) as memory:
        await fill(memory, "alice", "tea", engine)
        await memory.admin.backup(tmp_path / "backup")
    settings = load_settings(database_url=own.server.url(dbname=new))
    await restore_storage(settings, tmp_path / "backup", replace=False)
    assert all_rows(own.server, new) == all_rows(own.server, old)
    await use(settings)


async def test_a_database_that_is_not_empty_is_never_replaced(own: OwnDatabases, tmp_path: Path) -> None:
    name = await own.make_migrated()
    async with AsyncMemory(own.server.url(dbname=name), owner="alice", embedder="test") as memory:
        await memory.retain("Still here.")
        await memory.admin.backup(tmp_path / "backup")
        for replace in (False, True):
            with pytest.raises(ConflictError, match="not empty"):
                await memory.admin.restore(tmp_path / "backup", replace=replace)
        assert contents(await memory.memories.list()) == ["Still here."]


async def test_a_restore_that_fails_leaves_the_database_empty(own: OwnDatabases, tmp_path: Path) -> None:
    old, new = await own.make_migrated(), own.make()
    async with AsyncMemory(own.server.url(dbname=old), owner="alice", embedder="test") as memory:
        await memory.retain([f"fact {number}" for number in range(300)])
        await core_of(memory).write_hourly_metrics()
        await memory.admin.backup(tmp_path / "backup")
    whole = (tmp_path / "backup").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) * 9 // 10])
    settings = load_settings(database_url=own.server.url(dbname=new))
    with pytest.raises(DatabaseError, match="pg_restore failed"):
        await restore_storage(settings, tmp_path / "cut", replace=False)
    await restore_storage(settings, tmp_path / "backup", replace=False)
    assert all_rows(own.server, new) == all_rows(own.server, old)


async def test_a_backup_moves_from_the_embedded_server_to_a_url_and_back(
    own: OwnDatabases, backed_up_folder: Path, memory_dir: Path, tmp_path: Path
) -> None:
    name, folder = own.make(), memory_dir / f"back {uuid4()}"
    tenant = f"tenant {uuid4()}"
    embedded = Settings(data_dir=backed_up_folder, tenant=tenant)
    url = load_settings(database_url=own.server.url(dbname=name), tenant=tenant)
    async with AsyncMemory(settings=embedded, owner="alice", embedder="test") as memory:
        await memory.retain("On the way.")
        await memory.admin.backup(tmp_path / "there")
    await restore_storage(url, tmp_path / "there", replace=False)
    await use(url)
    async with AsyncMemory(settings=url, owner="alice", embedder="test") as memory:
        assert contents(await memory.memories.list()) == ["On the way."]
        await memory.retain("And back.")
        await memory.admin.backup(tmp_path / "back")
    back = Settings(data_dir=folder, tenant=tenant)
    await restore_storage(back, tmp_path / "back", replace=False)
    await use(back)
    async with AsyncMemory(settings=back, owner="alice", embedder="test") as memory:
        assert contents(await memory.memories.list()) == ["And back.", "On the way."]


async def test_a_backup_finds_its_vectors_wherever_the_extension_was(
    own: OwnDatabases, restored_folder: Path, tmp_path: Path
) -> None:
    name = own.make()
    own.server.execute(
        'CREATE SCHEMA "my extensions"; CREATE EXTENSION vector SCHEMA "my extensions"', dbname=name
    )
    await migrate(own.server.url(dbname=name), Limits())
    own.server.execute('GRANT USAGE ON SCHEMA "my extensions" TO mnemic_app', dbname=name)
    async with AsyncMemory(own.server.url(dbname=name), owner="alice", embedder="test") as memory:
        await memory.retain("Alice lives in Berlin.")
        await memory.admin.backup(tmp_path / "backup")
    settings = Settings(data_dir=restored_folder)
    await restore_storage(settings, tmp_path / "backup", replace=True)
    await use(settings)
    async with AsyncMemory(settings=settings, owner="alice", embedder="test") as memory:
        await memory.retain("Alice lives in Berlin!")
        assert len(await memory.memories.near_duplicates()) == 1


async def test_an_administrator_who_is_no_superuser_can_restore(own: OwnDatabases, tmp_path: Path) -> None:
    """It may create roles, owns the database and bypasses row security, as on managed servers."""
    old = await own.make_migrated()
    async with AsyncMemory(own.server.url(dbname=old), owner="alice", embedder="test") as memory:
        await memory.retain("Alice lives in Berlin.")
        await memory.admin.backup(tmp_path / "backup")
        login = core_of(memory).storage.database.access.key.login
    admin = f"admin {uuid4()}"
    own.server.execute(
        f"CREATE ROLE \"{admin}\" LOGIN CREATEROLE BYPASSRLS PASSWORD 'secret'; "
        f'GRANT mnemic_app, mnemic_definer, {login} TO "{admin}" WITH ADMIN OPTION'
    )
    new = own.make(owner=admin)
    own.server.execute("CREATE EXTENSION vector", dbname=new)
    settings = load_settings(database_url=own.server.url(admin, "secret", dbname=new))
    await restore_storage(settings, tmp_path / "backup", replace=False)
    async with AsyncMemory(settings=settings, owner="alice", embedder="test") as memory:
        assert contents(await memory.memories.list()) == ["Alice lives in Berlin."]
        await memory.admin.backup(tmp_path / "again")
    await use(settings)


async def test_a_login_that_may_not_see_everything_is_told_so(own: OwnDatabases, tmp_path: Path) -> None:
    name = await own.make_migrated()
    async with AsyncMemory(own.server.url(dbname=name), owner="alice", embedder="test") as memory:
        key = core_of(memory).storage.database.access.key
    login = own.server.url(key.login, key.login_password, dbname=name)
    settings = load_settings(database_url=login, tenant_key=key.secret.hex())
    async with AsyncMemory(settings=settings, owner="alice", embedder="test") as memory:
        with pytest.raises(MnemicError, match="superuser, or of a role that has BYPASSRLS") as caught:
            await memory.admin.backup(tmp_path / "backup")
    assert key.login_password not in str(caught.value)
    assert not (tmp_path / "backup").exists()


async def test_a_password_is_never_shown(own: OwnDatabases, tmp_path: Path) -> None:
    (tmp_path / "backup").write_bytes(b"PGDMP" + bytes(100))
    wrong = own.server.url(password="hunter2", dbname="postgres")
    for url in (wrong, own.server.url(dbname="no such database")):
        with pytest.raises(MnemicError) as caught:
            await restore_storage(load_settings(database_url=url), tmp_path / "backup", replace=False)
        assert "hunter2" not in str(caught.value)
        assert own.server.password not in str(caught.value)


async def test_names_are_folded_also_where_the_database_does_not_know_the_letters(own: OwnDatabases) -> None:
    """The server has the ctype C, in which lower('É') is 'É'."""
    name = await own.make_migrated()
    settings = load_settings(database_url=own.server.url(dbname=name))
    async with AsyncMemory(settings=settings, owner="alice", embedder="test") as memory:
        await memory.entities.upsert("École", "ÉMILE  Żuławski", facts={"city": "Łódź"})
        found = await memory.entities.get("école", "émile żuławski")
        assert (found.category, found.name) == ("école", "ÉMILE  Żuławski")
        assert len(await memory.entities.list()) == 1
    report = await diagnose(settings)
    (check,) = [check for check in report.checks if check.name == "locale"]
    assert check.state == "warning"
    assert check.found == "ctype C treats letters differently from Unicode"
