"""Bring a database to the schema that this code needs.

A migration is *pending* until its file has run, then *applied* for ever. Each runs in one
transaction together with its row in ``mnemic.migrations``; a crash in between leaves it pending.
One process at a time holds an advisory lock; the others wait and then find nothing to do. What
makes it stop with an error instead: an applied file that was edited (`MigrationChangedError`), an
applied number that has no file (`DatabaseTooNewError`), a role that may not
(`MissingPrivilegeError`, which carries the SQL for an administrator).
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from mnemic.db.connection import Limits, admin_connection
from mnemic.db.privileges import require_privileges
from mnemic.db.tenancy import SigningKey
from mnemic.db.translate import translated
from mnemic.errors import ConfigurationError, DatabaseTooNewError, MigrationChangedError, NotMigratedError
from mnemic.sql import query
from mnemic.sql.migration_files import CORE_SET, Migration, all_migrations


@dataclass(frozen=True)
class Applied:
    """One row of ``mnemic.migrations``."""

    set_name: str
    number: int
    title: str
    checksum: str
    applied_at: datetime
    applied_by: str


@dataclass(frozen=True)
class MigrationStatus:
    """What a database has and what it lacks."""

    applied: tuple[Applied, ...]
    pending: tuple[Migration, ...]

    @property
    def applied_labels(self) -> list[str]:
        """What is applied, named as files are."""
        return [f"{row.set_name}/{row.number:04}_{row.title}" for row in self.applied]


async def migrate(
    conninfo: str,
    limits: Limits,
    *,
    key: SigningKey | None = None,
    on_applied: Callable[[Migration], None] = lambda migration: None,
    migrations: tuple[Migration, ...] | None = None,
) -> tuple[Migration, ...]:
    """Apply what is pending and return it. `key` is stored as signing key if the database has none."""
    files = all_migrations() if migrations is None else migrations
    async with admin_connection(conninfo, limits) as connection:
        with translated():
            async with _lock(connection):
                needs = await make_prerequisites(connection)
                await connection.execute(query("provision.make_housekeeping"))
                status = compare(await _read_applied(connection), files)
                for migration in status.pending:
                    await _apply(connection, migration, joins_definer=not needs["is_definer"])
                    on_applied(migration)
                stored_key = await _settle_key(connection, key)
                if needs["may_grant_app"]:
                    await _make_login(connection, stored_key)
                return status.pending


async def read_status(conninfo: str, limits: Limits) -> MigrationStatus:
    """What is applied and what is pending; changes nothing."""
    async with admin_connection(conninfo, limits) as connection:
        return await status_of(connection)


async def status_of(connection: AsyncConnection[DictRow]) -> MigrationStatus:
    """The same over a connection that is open already."""
    with translated():
        return compare(await _read_applied(connection), all_migrations())


async def require_current(connection: AsyncConnection[DictRow]) -> None:
    """Raise unless the database has exactly the migrations of this code."""
    pending = (await status_of(connection)).pending
    if pending:
        raise NotMigratedError(
            f"The database lacks {len(pending)} migration(s), the first is {pending[0].label}. "
            "Run `mnemic migrate` with a role that may change the schema."
        )


def compare(applied: Iterable[Applied], files: tuple[Migration, ...]) -> MigrationStatus:
    """Match what a database has with the files; a contradiction is an error."""
    by_place = {(migration.set_name, migration.number): migration for migration in files}
    installed_sets = {migration.set_name for migration in files}
    done = tuple(applied)
    for row in done:
        if row.set_name not in installed_sets:
            continue  # An extension that is not installed here; its tables stay as they are.
        _check_applied(row, by_place.get((row.set_name, row.number)))
    have = {(row.set_name, row.number) for row in done}
    return MigrationStatus(
        done, tuple(migration for place, migration in by_place.items() if place not in have)
    )


def _check_applied(row: Applied, migration: Migration | None) -> None:
    if migration is None:
        product = "Mnemic" if row.set_name == CORE_SET else f"the extension {row.set_name!r}"
        raise DatabaseTooNewError(
            f"The database has {row.set_name}/{row.number:04}_{row.title}, which this version does not know. "
            f"Upgrade {product}; an older version must not write to a newer schema."
        )
    if migration.checksum != row.checksum:
        raise MigrationChangedError(
            f"{migration.label} was edited after it had been applied on {row.applied_at:%Y-%m-%d %H:%M} UTC. "
            "Restore the file and put the change into a new migration."
        )


@asynccontextmanager
async def _lock(connection: AsyncConnection[DictRow]) -> AsyncIterator[None]:
    await connection.execute(query("migrations.lock"))
    try:
        yield
    finally:
        if not connection.closed:
            await connection.execute(query("migrations.unlock"))


async def make_roles(connection: AsyncConnection[DictRow]) -> DictRow:
    """Make the roles that are missing; returns what the database lacked, and what the current role may do."""
    needs = await require_privileges(connection)
    if needs["lacks_app_role"]:
        await connection.execute(query("provision.make_app_role"))
    if needs["lacks_definer_role"]:
        await connection.execute(query("provision.make_definer_role"))
    return needs


async def make_prerequisites(connection: AsyncConnection[DictRow]) -> DictRow:
    """Make the roles and the extension that are missing; returns what the current role is and may do."""
    needs = await make_roles(connection)
    if needs["lacks_vector"]:
        await connection.execute(query("provision.make_vector_extension"))
    return needs


async def _read_applied(connection: AsyncConnection[DictRow]) -> list[Applied]:
    if not (await _one(connection, query("migrations.has_list")))["has_list"]:
        return []
    cursor = await connection.execute(query("migrations.applied"))
    return [Applied(**row) for row in await cursor.fetchall()]


async def _apply(connection: AsyncConnection[DictRow], migration: Migration, *, joins_definer: bool) -> None:
    """Run a migration and record it. The migrator is a member of mnemic_definer at most in between."""
    async with connection.transaction():
        if joins_definer:
            await connection.execute(query("provision.join_definer"))
        await connection.execute(migration.sql)
        await connection.execute(
            query("migrations.record"),
            {
                "set_name": migration.set_name,
                "number": migration.number,
                "title": migration.title,
                "checksum": migration.checksum,
            },
        )
        if joins_definer:
            await connection.execute(query("provision.leave_definer"))


async def _settle_key(connection: AsyncConnection[DictRow], wanted: SigningKey | None) -> SigningKey:
    """Store a signing key if there is none; refuse to go on with another than the stored one."""
    key = wanted or SigningKey.new()
    values = {"key": key.secret, "inner_block": key.inner_block, "outer_block": key.outer_block}
    made = (await _one(connection, query("provision.make_signing_key"), values))["made"]
    stored = key if made else SigningKey((await _one(connection, query("session.signing_key")))["key"])
    if wanted is not None and stored != wanted:
        raise ConfigurationError(
            "tenant_key differs from the key in the database. Set the one it was migrated with, or unset it."
        )
    return stored


async def _make_login(connection: AsyncConnection[DictRow], key: SigningKey) -> None:
    verifier = connection.pgconn.encrypt_password(
        key.login_password.encode(), key.login.encode(), b"scram-sha-256"
    ).decode()
    await connection.execute(query("provision.make_login"), {"login": key.login, "verifier": verifier})


async def _one(
    connection: AsyncConnection[DictRow], text: LiteralString, parameters: Mapping[str, Any] | None = None
) -> DictRow:
    cursor = await connection.execute(text, parameters)
    row = await cursor.fetchone()
    assert row is not None, "the query returns one row"
    return row
