"""Opening the user's own PostgreSQL by URL: as administrator, as plain login, and errors."""

import re
from collections.abc import Iterator
from typing import LiteralString

import psycopg
import pytest
from psycopg import sql

from mnemic.db.access import check_url, url_access
from mnemic.db.connection import Limits
from mnemic.db.migrate import migrate
from mnemic.db.tenancy import SigningKey
from mnemic.errors import (
    ConfigurationError,
    DatabaseTooNewError,
    DatabaseUnavailableError,
    MissingPrivilegeError,
    MnemicError,
    NotMigratedError,
)
from mnemic.sql import query
from tests.conftest import LIMITS, open_database
from tests.db.version_before import make_old_database
from tests.password_server import PasswordServer

KEY = SigningKey(bytes(range(32)))
SECRET = "p@ss/w:rd ö%"


@pytest.fixture
def remote(password_server: PasswordServer) -> Iterator[PasswordServer]:
    """The password server with an empty database `memory`; reset after the test, roles included."""
    password_server.execute("CREATE DATABASE memory")
    yield password_server
    with password_server.connect() as connection:
        databases = connection.execute(
            "SELECT datname FROM pg_database WHERE datname !~ '^(postgres|template.)$'"
        )
        for (name,) in databases.fetchall():
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
        roles = connection.execute("SELECT rolname FROM pg_roles WHERE rolname !~ '^(postgres$|pg_)'")
        names = [sql.Identifier(name) for (name,) in roles.fetchall()]
        if names:  # All at once, since some depend on others.
            connection.execute(sql.SQL("DROP ROLE {}").format(sql.SQL(", ").join(names)))


@pytest.fixture
async def migrated(remote: PasswordServer) -> PasswordServer:
    """The same with the database migrated by the superuser."""
    await migrate(remote.url(dbname="memory"), LIMITS, key=KEY)
    return remote


def make_role(server: PasswordServer, name: str, attributes: LiteralString = "") -> str:
    """Create a login with the password SECRET; returns its URL."""
    words = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} {}")
    statement = words.format(sql.Identifier(name), sql.Literal(SECRET), sql.SQL(attributes))
    with server.connect() as connection:
        connection.execute(statement)
    return server.url(name, SECRET, dbname="memory")


async def ask(url: str, question: LiteralString, *, key: SigningKey | None = None) -> str:
    """Open this URL and run a query in a transaction of the tenant `acme`; returns its one value."""
    async with open_database(await url_access(url, LIMITS, key=key)) as database:
        tenant = await database.open_tenant("acme")
        async with database.transaction(tenant) as transaction:
            cursor = await transaction.connection.execute(question)
            (row,) = await cursor.fetchall()
            return str(row["answer"])


async def works(url: str, *, key: SigningKey | None = None) -> str:
    """Open this URL and read the tenant; returns the role that was used."""
    return await ask(url, "SELECT session_user AS answer FROM state.tenants WHERE name = 'acme'", key=key)


async def test_an_administrators_url_uses_the_login_of_the_key(
    migrated: PasswordServer,
) -> None:
    assert await works(migrated.url(dbname="memory")) == KEY.login


async def test_a_plain_login_works_with_the_key_from_the_settings(migrated: PasswordServer) -> None:
    url = make_role(migrated, 'odd "name"', "IN ROLE mnemic_app")
    assert await works(url, key=KEY) == 'odd "name"'


async def test_settings_stored_for_a_plain_login_are_kept(migrated: PasswordServer) -> None:
    url = make_role(migrated, "tuned", "IN ROLE mnemic_app")
    migrated.execute("ALTER ROLE tuned SET work_mem = '7MB'")
    assert await ask(url, "SELECT current_setting('work_mem') AS answer", key=KEY) == "7MB"


async def test_the_error_for_a_login_without_key_names_the_setting(migrated: PasswordServer) -> None:
    url = make_role(migrated, "plain", "IN ROLE mnemic_app")
    with pytest.raises(ConfigurationError, match="MNEMIC_TENANT_KEY"):
        await url_access(url, LIMITS, key=None)


async def test_a_key_of_another_database_is_refused(migrated: PasswordServer) -> None:
    url = make_role(migrated, "plain", "IN ROLE mnemic_app")
    with pytest.raises(ConfigurationError, match="tenant_key"):
        await url_access(url, LIMITS, key=SigningKey.new())


async def test_the_error_for_a_login_outside_mnemic_app_names_the_grant(migrated: PasswordServer) -> None:
    url = make_role(migrated, "outsider")
    with pytest.raises(ConfigurationError, match='GRANT mnemic_app TO "outsider"'):
        await url_access(url, LIMITS, key=KEY)


async def test_a_login_that_can_bypass_row_level_security_is_refused(migrated: PasswordServer) -> None:
    url = make_role(migrated, "mighty", "BYPASSRLS IN ROLE mnemic_app")
    with pytest.raises(ConfigurationError, match="bypass row-level security"):
        await url_access(url, LIMITS, key=KEY)


async def test_a_login_that_may_create_functions_in_pgvectors_schema_is_refused(
    remote: PasswordServer,
) -> None:
    """Servers upgraded from PostgreSQL 14 or older let all roles create in `public`."""
    remote.execute(
        "CREATE EXTENSION vector SCHEMA public; GRANT CREATE ON SCHEMA public TO PUBLIC", dbname="memory"
    )
    await migrate(remote.url(dbname="memory"), LIMITS, key=KEY)
    make_role(remote, "plain", "IN ROLE mnemic_app")
    for url in (remote.url(dbname="memory"), remote.url("plain", SECRET, dbname="memory")):
        with pytest.raises(ConfigurationError, match="REVOKE CREATE ON SCHEMA public FROM PUBLIC"):
            await url_access(url, LIMITS, key=KEY)
    remote.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC, mnemic_app", dbname="memory")
    assert await works(remote.url(dbname="memory")) == KEY.login


async def test_pgvector_may_be_in_a_schema_with_any_name(remote: PasswordServer) -> None:
    url, schema = remote.url(dbname="memory"), '"Odd, \\name"'
    remote.execute(f"CREATE SCHEMA {schema}; CREATE EXTENSION vector SCHEMA {schema}", dbname="memory")
    await migrate(url, LIMITS, key=KEY)
    with pytest.raises(ConfigurationError, match=re.escape(f"GRANT USAGE ON SCHEMA {schema} TO mnemic_app")):
        await url_access(url, LIMITS, key=None)
    remote.execute(f"GRANT USAGE ON SCHEMA {schema} TO mnemic_app", dbname="memory")
    assert await ask(url, "SELECT '[1,2]'::vector::text AS answer") == "[1,2]"


async def test_a_database_without_migrations_is_refused_with_advice(remote: PasswordServer) -> None:
    with pytest.raises(NotMigratedError, match="mnemic migrate"):
        await url_access(remote.url(dbname="memory"), LIMITS, key=None)


async def test_a_database_newer_than_the_code_is_not_opened(migrated: PasswordServer) -> None:
    migrated.execute("INSERT INTO mnemic.migrations VALUES ('mnemic', 9999, 'future', '')", dbname="memory")
    with pytest.raises(DatabaseTooNewError):
        await url_access(migrated.url(dbname="memory"), LIMITS, key=None)


async def test_migrating_again_resets_a_changed_password_of_the_login(migrated: PasswordServer) -> None:
    """Injected SQL can change the login's password: PostgreSQL lets every role change its own."""
    url = migrated.url(dbname="memory")
    migrated.execute(f"ALTER ROLE {KEY.login} PASSWORD 'hijacked'")
    with pytest.raises(ConfigurationError, match="mnemic migrate"):
        await url_access(url, LIMITS, key=None)
    await migrate(url, LIMITS)
    assert await works(url) == KEY.login


@pytest.mark.parametrize(
    ("user", "password", "dbname"),
    [("postgres", SECRET, "memory"), ("nobody", SECRET, "memory"), ("postgres", None, "no_such_database")],
    ids=["wrong password", "no such role", "no such database"],
)
async def test_the_error_for_a_refused_url_does_not_show_the_password(
    user: str, password: str | None, dbname: str, remote: PasswordServer
) -> None:
    url = remote.url(user, password, dbname=dbname)
    with pytest.raises(DatabaseUnavailableError, match=f"{user}|{dbname}") as caught:
        await url_access(url, LIMITS, key=None)
    assert (password or remote.password) not in str(caught.value)


async def test_an_unreachable_server_is_an_error(remote: PasswordServer) -> None:
    with pytest.raises(DatabaseUnavailableError):
        await url_access(remote.url(dbname="memory", port=1), Limits(connect_timeout_s=1), key=None)


@pytest.mark.parametrize(
    "url",
    ["mysql://u:hidden@h/d", "postgresql://u:hidden%zz@h/d", "hidden", ""],
)
def test_the_error_for_an_invalid_url_does_not_repeat_it(url: str) -> None:
    with pytest.raises(ConfigurationError, match="postgresql://") as caught:
        check_url(url)
    assert "hidden" not in str(caught.value)
    assert "hidden" not in str(caught.value.__cause__)


async def test_a_role_without_privileges_can_migrate_after_an_administrator_ran_the_given_sql(
    remote: PasswordServer,
) -> None:
    url = make_role(remote, "humble")
    with pytest.raises(MissingPrivilegeError) as caught:
        await migrate(url, LIMITS, key=KEY)
    assert caught.value.sql in str(caught.value)
    with remote.connect(dbname="memory") as connection:
        schemas = connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname IN ('mnemic', 'state')")
        assert schemas.fetchone() == (0,), "nothing is done half-way"

    remote.execute(caught.value.sql, dbname="memory")
    assert not (await migrate(url, LIMITS, key=KEY)).is_current
    assert (await migrate(url, LIMITS, key=KEY)).is_current

    # This role may not create a login, so an administrator does, as the error says.
    with pytest.raises(ConfigurationError, match="CREATE ROLE … LOGIN"):
        await url_access(url, LIMITS, key=None)
    login = make_role(remote, "application", "IN ROLE mnemic_app")
    assert await works(login, key=KEY) == "application"


async def test_a_role_with_createrole_migrates_and_is_not_a_member_of_the_definer_afterwards(
    remote: PasswordServer,
) -> None:
    url = make_role(remote, "builder", "CREATEROLE")
    remote.execute("ALTER DATABASE memory OWNER TO builder")
    remote.execute("CREATE EXTENSION vector", dbname="memory")
    await migrate(url, LIMITS, key=KEY)
    assert await works(url) == KEY.login
    with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("SET ROLE mnemic_definer")


async def test_a_role_without_superuser_carries_over_the_version_before(
    remote: PasswordServer,
) -> None:
    """It replaces functions of mnemic_definer as a member of that role during the transaction only."""
    url = make_role(remote, "builder", "CREATEROLE")
    remote.execute("ALTER DATABASE memory OWNER TO builder")
    remote.execute("CREATE EXTENSION vector", dbname="memory")
    with psycopg.connect(url, autocommit=True) as connection:
        for name in ("make_app_role", "make_definer_role", "join_definer"):
            connection.execute(query(f"provision.{name}"))
        make_old_database(url)
        connection.execute(query("provision.leave_definer"))
    remote.execute(
        "INSERT INTO state.memories (tenant_id, owner, channel, process, content, category, source)"
        " SELECT tenant_id, 'alice', '_global', 'test', 'kept', 'factual', 'imported' FROM state.tenants",
        dbname="memory",
    )
    await migrate(url, LIMITS, key=KEY)
    assert await works(url) == KEY.login
    with remote.connect(dbname="memory") as connection:
        assert connection.execute("SELECT content FROM state.memory_records").fetchall() == [("kept",)]


async def test_the_error_for_a_second_role_with_createrole_names_the_missing_grants(
    remote: PasswordServer,
) -> None:
    """Roles belong to the whole server; only the creator of mnemic_definer may grant it."""
    first = make_role(remote, "first", "CREATEROLE")
    remote.execute("ALTER DATABASE memory OWNER TO first")
    remote.execute("CREATE EXTENSION vector", dbname="memory")
    await migrate(first, LIMITS)
    make_role(remote, "second", "CREATEROLE")
    remote.execute("CREATE DATABASE other OWNER second")
    url = remote.url("second", SECRET, dbname="other")
    with pytest.raises(MissingPrivilegeError) as caught:
        await migrate(url, LIMITS, key=KEY)
    remote.execute(caught.value.sql, dbname="other")
    await migrate(url, LIMITS, key=KEY)
    assert await works(url) == KEY.login


async def test_two_databases_of_one_server_have_separate_keys_and_logins(
    migrated: PasswordServer,
) -> None:
    migrated.execute("CREATE DATABASE other")
    await migrate(migrated.url(dbname="other"), LIMITS)
    login = await works(migrated.url(dbname="other"))
    assert login != KEY.login
    with pytest.raises(MnemicError):
        await works(migrated.url(KEY.login, KEY.login_password, dbname="other"), key=KEY)
