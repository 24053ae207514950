"""Opening a database, of the embedded server or by URL: find the login to use and the signing key.

Mnemic needs two things: a login that owns nothing and cannot bypass row-level security, and the key that
signs tenants. There are two ways to get both:

* **An administrator's URL**, the embedded server included: that role reads the key from the
  database. All queries then use the login that belongs to the key, which `mnemic migrate` created, so
  injected SQL never runs with the administrator's role.
* **The login's own URL and `tenant_key`** in the settings, for servers where the application should
  not have the administrator's password.

Anything else (a superuser without a migrated database, a login without the key) is an error that says
what to do. Mnemic never falls back to another database than the configured one.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow

from mnemic.db.connection import (
    AppConnection,
    Limits,
    admin_connection,
    begin_transaction,
    session_settings,
    with_session,
)
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.db.migrate import migrate, require_current, status_of
from mnemic.db.pooler import is_pooled
from mnemic.db.schema_version import expected_digest
from mnemic.db.tenancy import SigningKey
from mnemic.errors import ConfigurationError, DatabaseUnavailableError
from mnemic.sql import query

DATABASE_NAME = "mnemic"


@dataclass(frozen=True)
class Access:
    """What the pool needs. It calls `conninfo` for each connection: an embedded server may have moved."""

    conninfo: Callable[[], str]
    key: SigningKey
    server_version: str
    vector_version: str
    schema_digest: str | None = None
    """The schema that the database had when it was opened; None for one that is used as it is."""
    pooler_settings: Mapping[str, str] | None = None
    """Settings to send again after connecting and cleaning, because a pooler drops those of `conninfo`."""


async def embedded_access(server: EmbeddedServer, limits: Limits) -> Access:
    """Access to the embedded server's database, which is created and migrated if necessary."""
    conninfo = await embedded_admin_conninfo(server, limits)
    async with admin_connection(conninfo, limits) as connection:
        if not (await status_of(connection)).is_current:
            await migrate(conninfo, limits)
        who = await _who(connection)
        key = await _read_key(connection)
    return Access(
        lambda: _app_conninfo(server.conninfo(user=key.login, dbname=DATABASE_NAME), limits, who),
        key,
        who["server_version"],
        who["vector_version"],
        expected_digest(),
    )


async def embedded_admin_conninfo(server: EmbeddedServer, limits: Limits) -> str:
    """Administrator's connection string for the embedded server's database, which is created if missing."""
    conninfo = server.conninfo(user=ADMIN_ROLE, dbname=DATABASE_NAME)
    try:
        async with admin_connection(conninfo, limits):
            return conninfo
    except DatabaseUnavailableError as error:
        if not _is_missing_database(error):
            raise
    await _make_database(server, limits)
    return conninfo


async def url_access(url: str, limits: Limits, *, key: SigningKey | None) -> Access:
    """Access to the user's own database, which must have been migrated."""
    check_url(url)
    async with admin_connection(url, limits) as connection:
        who = await _who(connection)
        _require_entry(who)
        await require_current(connection)
        _require_safe_path(who)
        if who["reads_key"]:
            key = await _read_key(connection)
            login = make_conninfo(url, user=key.login, password=key.login_password)
            await _try_login(login, limits)
        else:
            key = _require_plain_login(who, key)
            await _try_key(connection, key)
            login = url
        pooler_settings = await _pooler_settings(connection, limits, who)
    app_conninfo = _app_conninfo(login, limits, who)
    return Access(
        lambda: app_conninfo,
        key,
        who["server_version"],
        who["vector_version"],
        expected_digest(),
        pooler_settings,
    )


def check_url(url: str) -> None:
    """Refuse a URL that libpq does not understand, without repeating a password in the message."""
    if urlsplit(url).scheme not in ("postgresql", "postgres"):
        raise ConfigurationError(
            "The URL must start with postgresql:// for a database, or with https:// for a Mnemic server."
        )
    try:
        conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise ConfigurationError(
            "The database URL cannot be understood. It looks like "
            "postgresql://user:password@host:5432/database; characters such as @ or / inside a password "
            "are written %40 or %2F."
        ) from None


def _is_missing_database(error: DatabaseUnavailableError) -> bool:
    # While connecting, libpq gives no SQLSTATE, only the server's message, in English because of our initdb.
    return f'database "{DATABASE_NAME}" does not exist' in str(error.__cause__)


async def _make_database(server: EmbeddedServer, limits: Limits) -> None:
    async with admin_connection(server.conninfo(user=ADMIN_ROLE, dbname="postgres"), limits) as connection:
        # Another process may create it at the same time.
        with suppress(psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
            await connection.execute(query("provision.make_database"))


async def _who(connection: AsyncConnection[DictRow]) -> DictRow:
    cursor = await connection.execute(query("session.who"))
    row = await cursor.fetchone()
    assert row is not None, "the session's role exists"
    return row


async def _read_key(connection: AsyncConnection[DictRow]) -> SigningKey:
    cursor = await connection.execute(query("session.signing_key"))
    row = await cursor.fetchone()
    assert row is not None, "a migrated database has a signing key"
    return SigningKey(row["key"])


def _require_entry(who: DictRow) -> None:
    """Check this first: without it, the role cannot read which migrations are missing."""
    if who["may_enter"] is False:
        raise ConfigurationError(
            f"The role {who['role']!r} is not a member of mnemic_app. An administrator can run: "
            f'GRANT mnemic_app TO "{who["role"]}";'
        )


def _require_safe_path(who: DictRow) -> None:
    """The application must find pgvector, but not be able to create functions in pgvector's schema."""
    schema = who["vector_schema"]
    if who["app_finds_vector"] is False:
        raise ConfigurationError(
            f"The application may not use the schema {schema}, where pgvector is. An administrator can run: "
            f"GRANT USAGE ON SCHEMA {schema} TO mnemic_app;"
        )
    if who["app_may_create_in_vector_schema"]:
        raise ConfigurationError(
            f"The application may create functions in the schema {schema}, where Mnemic looks for those of "
            "pgvector: SQL of one tenant could replace them for the others. An administrator can run: "
            f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC, mnemic_app;"
        )


def _require_plain_login(who: DictRow, key: SigningKey | None) -> SigningKey:
    """The login's own role must be unprivileged, and the settings must have the key."""
    if who["is_superuser"] or who["bypasses_policies"] or who["owns_tables"]:
        raise ConfigurationError(
            f"The role {who['role']!r} can bypass row-level security, so Mnemic does not use it. "
            "Use a plain login: CREATE ROLE … LOGIN PASSWORD '…' IN ROLE mnemic_app;"
        )
    if key is None:
        raise ConfigurationError(
            f"The role {who['role']!r} may not read the key that signs tenants, which is right for an "
            "application. Set MNEMIC_TENANT_KEY to the key that `mnemic migrate` was run with."
        )
    return key


async def _try_key(connection: AppConnection, key: SigningKey) -> None:
    """Check the key from the settings by proving something with it."""
    await begin_transaction(connection, key, {"opening": "the key itself"}, begin=query("session.begin"))
    cursor = await connection.execute(query("session.holds"), {"purpose": "opening"})
    row = await cursor.fetchone()
    await connection.rollback()
    if row is None or not row["holds"]:
        raise ConfigurationError(
            "tenant_key is not the key of this database. Set MNEMIC_TENANT_KEY to the one that "
            "`mnemic migrate` was run with."
        )


async def _try_login(conninfo: str, limits: Limits) -> None:
    """Connect once with the derived login, to fail here with advice rather than later in the pool."""
    try:
        async with admin_connection(conninfo, limits):
            return
    except DatabaseUnavailableError as error:
        raise ConfigurationError(
            "The URL's role administers the database, and the login that `mnemic migrate` created for the "
            "application cannot connect. Run `mnemic migrate` again to renew it. If that does not help, the "
            "role may not create roles, or the server does not let new ones log in by password: create a "
            "login yourself (CREATE ROLE … LOGIN PASSWORD '…' IN ROLE mnemic_app;), use its URL, and set "
            "MNEMIC_TENANT_KEY."
        ) from error


async def _pooler_settings(
    connection: AsyncConnection[DictRow], limits: Limits, who: DictRow
) -> dict[str, str] | None:
    if not await is_pooled(connection):
        return None
    return session_settings(statement_timeout_s=limits.statement_timeout_s, search_path=who["vector_schema"])


def _app_conninfo(login: str, limits: Limits, who: DictRow) -> str:
    return with_session(
        login, limits, statement_timeout_s=limits.statement_timeout_s, search_path=who["vector_schema"]
    )
