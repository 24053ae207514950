"""Bring a database to the schema that this code needs.

A migration is *pending* until its file has run, then *applied* for ever. A definition (a function, trigger,
view or policy, see `mnemic.db.definitions`) is applied again whenever its file has changed. All of it is
one transaction: definitions that tables need, pending migrations, the other definitions, dropping definitions
without a file, and the records of all that in ``mnemic.migrations`` and ``mnemic.definitions``. A crash
leaves the database as it was. One process at a time holds an advisory lock; the others wait and then find
nothing to do. A migration waits until no process of another version uses the database
(`mnemic.db.other_versions`). Errors: an applied migration was edited (`MigrationChangedError`), an applied
number has no file (`DatabaseTooNewError`), another version is in use (`DatabaseInUseError`), the role lacks a
privilege (`MissingPrivilegeError`, which carries the SQL for an administrator).
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from mnemic.db.connection import Limits, admin_connection
from mnemic.db.definitions import (
    apply_definitions,
    compare_definitions,
    drop_removed,
    read_recorded,
)
from mnemic.db.other_versions import OtherVersionsWait, disconnect, other_processes
from mnemic.db.privileges import require_privileges
from mnemic.db.tenancy import SigningKey
from mnemic.db.translate import translated
from mnemic.db.version_before import OBJECTS, RECORD_NAME, carried_over
from mnemic.errors import ConfigurationError, DatabaseTooNewError, MigrationChangedError, NotMigratedError
from mnemic.sql import query
from mnemic.sql.definition_files import BEFORE_TABLES, Definition
from mnemic.sql.migration_files import CORE_SET, Migration, SchemaFiles, installed_files
from mnemic.version import __version__


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
    """Applied and pending migrations, and definitions that differ from this code."""

    applied: tuple[Applied, ...]
    pending: tuple[Migration, ...]
    outdated: tuple[Definition, ...] = ()
    removed: tuple[str, ...] = ()
    """Labels of definitions that the database has and this code does not."""

    @property
    def is_current(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.pending or self.outdated or self.removed)

    @property
    def to_apply(self) -> tuple[Migration | Definition, ...]:
        """Pending migrations and outdated definitions, in the order in which they are applied."""
        early = (item for item in self.outdated if item.stage == BEFORE_TABLES)
        late = (item for item in self.outdated if item.stage != BEFORE_TABLES)
        return (*early, *self.pending, *late)

    @property
    def applied_labels(self) -> list[str]:
        """Labels of the applied migrations."""
        return [f"{row.set_name}/{row.number:04}_{row.title}" for row in self.applied]


async def migrate(
    conninfo: str,
    limits: Limits,
    *,
    key: SigningKey | None = None,
    migrations: tuple[Migration, ...] | None = None,
    definitions: tuple[Definition, ...] | None = None,
    disconnect_others: bool = False,
) -> MigrationStatus:
    """Apply what is pending and outdated; returns the status before, which says what was done.

    `key` is stored as signing key if the database has none. `migrations` and `definitions` replace the
    installed ones. Processes of other versions are waited for, or disconnected with `disconnect_others`.
    """
    installed = installed_files()
    files = SchemaFiles(
        installed.migrations if migrations is None else migrations,
        installed.definitions if definitions is None else definitions,
    )
    waiting = OtherVersionsWait(limits.other_versions_timeout_s)
    async with admin_connection(conninfo, limits) as connection:
        with translated():
            while True:
                async with connection.transaction():
                    await connection.execute(query("migrations.lock"))
                    needs = await make_prerequisites(connection)
                    await connection.execute(query("provision.make_housekeeping"))
                    status = await _status(connection, files)
                    others = [] if status.is_current else await other_processes(connection)
                    if others and disconnect_others:
                        await disconnect(connection, others)
                    if not others or disconnect_others:
                        await _apply(connection, status, files, needs, key)
                        return status
                await waiting.pause(others)


async def _apply(
    connection: AsyncConnection[DictRow],
    status: MigrationStatus,
    files: SchemaFiles,
    needs: DictRow,
    key: SigningKey | None,
) -> None:
    if not status.is_current:
        await connection.execute(query("migrations.close_to_new_sessions"))
        await _upgrade(connection, status, files, joins_definer=not needs["is_definer"])
        await connection.execute(query("migrations.state_version"), {"version": f"Mnemic {__version__}"})
        await connection.execute(query("migrations.note_version"))
    stored_key = await _settle_key(connection, key)
    if needs["may_grant_app"]:
        await _make_login(connection, stored_key)


async def read_status(conninfo: str, limits: Limits) -> MigrationStatus:
    """The status of a database; changes nothing."""
    async with admin_connection(conninfo, limits) as connection:
        return await status_of(connection)


async def status_of(connection: AsyncConnection[DictRow]) -> MigrationStatus:
    """The same over an open connection."""
    with translated():
        return await _status(connection, installed_files())


@asynccontextmanager
async def tables_of_version(
    connection: AsyncConnection[DictRow], migrations: Sequence[Migration]
) -> AsyncIterator[None]:
    """Create the tables of an earlier version in an empty database; commit when the block has filled them.

    Of the definitions only those are applied that tables need: there are no triggers. `migrate` does the rest
    afterwards. In the block the connection has the privileges of mnemic_definer.
    """
    files = installed_files()
    async with connection.transaction():
        await connection.execute(query("migrations.lock"))
        needs = await make_prerequisites(connection)
        await connection.execute(query("provision.make_housekeeping"))
        if not needs["is_definer"]:
            await connection.execute(query("provision.join_definer"))
        for set_name in files.set_names:
            await _create_tables(connection, set_name, files.definitions, migrations)
        yield
        if not needs["is_definer"]:
            await connection.execute(query("provision.leave_definer"))


def migrations_of_version(recorded: Iterable[Applied]) -> tuple[Migration, ...]:
    """The files of recorded migrations; MigrationError if this code cannot create that version."""
    files = installed_files()
    rows = sorted(recorded, key=lambda row: (row.set_name, row.number))
    if missing := {row.set_name for row in rows} - set(files.set_names):
        raise NotMigratedError(
            f"It has tables of the extension {min(missing)!r}, which is not installed. Install it first."
        )
    baseline = carried_over(_core_checksums(rows), files.migrations)
    if baseline:
        rows = [*_as_applied(baseline, rows), *(row for row in rows if row.set_name != CORE_SET)]
    pending = compare(rows, files.migrations).pending
    return tuple(migration for migration in files.migrations if migration not in pending)


async def require_current(connection: AsyncConnection[DictRow]) -> None:
    """Raise unless the database has exactly the migrations and definitions of this code."""
    status = await status_of(connection)
    if status.pending:
        raise NotMigratedError(
            f"The database lacks {len(status.pending)} migration(s), the first is {status.pending[0].label}. "
            "Run `mnemic migrate` with a role that may change the schema."
        )
    if not status.is_current:
        differing = [item.label for item in status.outdated] + list(status.removed)
        raise NotMigratedError(
            f"{len(differing)} definition(s) in the database are not those of this version, the first is "
            f"{differing[0]}. Run `mnemic migrate` with a role that may change the schema."
        )


async def _status(connection: AsyncConnection[DictRow], files: SchemaFiles) -> MigrationStatus:
    has = await _one(connection, query("migrations.has_records"))
    applied = await _read_applied(connection) if has["has_migrations"] else []
    baseline = carried_over(_core_checksums(applied), files.migrations)
    if baseline:
        applied = [*_as_applied(baseline, applied), *(row for row in applied if row.set_name != CORE_SET)]
    try:
        status = compare(applied, files.migrations)
    except DatabaseTooNewError as error:
        version = await migrated_by(connection) or "a newer version of Mnemic"
        raise DatabaseTooNewError(f"{error} The database was migrated by {version}.") from None
    if not has["has_definitions"]:
        return replace(status, outdated=files.definitions)
    changes = await compare_definitions(connection, files.definitions, files.set_names)
    return replace(status, outdated=changes.outdated, removed=tuple(row.label for row in changes.removed))


async def migrated_by(connection: AsyncConnection[DictRow]) -> str | None:
    """The version that migrated the database last, such as ``Mnemic 0.2.0``; None if it is not known."""
    version: str | None = (await _one(connection, query("migrations.migrated_by")))["version"]
    return version


def compare(applied: Iterable[Applied], files: tuple[Migration, ...]) -> MigrationStatus:
    """Compare the applied migrations with the files; a contradiction is an error."""
    by_number = {(migration.set_name, migration.number): migration for migration in files}
    installed_sets = {migration.set_name for migration in files}
    done = tuple(applied)
    for row in done:
        if row.set_name not in installed_sets:
            continue  # An extension that is not installed here; its tables stay as they are.
        _check_applied(row, by_number.get((row.set_name, row.number)))
    have = {(row.set_name, row.number) for row in done}
    return MigrationStatus(
        done, tuple(migration for number, migration in by_number.items() if number not in have)
    )


def _check_applied(row: Applied, migration: Migration | None) -> None:
    if migration is None:
        product = "Mnemic" if row.set_name == CORE_SET else f"the extension {row.set_name!r}"
        raise DatabaseTooNewError(
            f"The database has {row.set_name}/{row.number:04}_{row.title}, which this version "
            f"({__version__}) does not know. Upgrade {product}; an older version must not write to a newer "
            "schema. To go back, restore a backup of the older version. `mnemic backup` works meanwhile."
        )
    if migration.checksum != row.checksum:
        raise MigrationChangedError(
            f"{migration.label} was edited after it had been applied on {row.applied_at:%Y-%m-%d %H:%M} UTC. "
            "Restore the file and put the change into a new migration."
        )


async def _upgrade(
    connection: AsyncConnection[DictRow], status: MigrationStatus, files: SchemaFiles, *, joins_definer: bool
) -> None:
    """The migrator is a member of mnemic_definer at most within the transaction."""
    if joins_definer:
        await connection.execute(query("provision.join_definer"))
    await _carry_over(connection, files)
    recorded = await read_recorded(connection, files.set_names)
    # A migration may have dropped a definition, in order to change what it depends on.
    definitions = files.definitions if status.pending else status.outdated
    for set_name in files.set_names:
        await _create_tables(connection, set_name, definitions, status.pending)
    await apply_definitions(connection, [item for item in definitions if item.stage != BEFORE_TABLES])
    await drop_removed(connection, recorded, files.definitions)
    if joins_definer:
        await connection.execute(query("provision.leave_definer"))


async def _create_tables(
    connection: AsyncConnection[DictRow],
    set_name: str,
    definitions: Iterable[Definition],
    migrations: Iterable[Migration],
) -> None:
    """Apply the definitions that the tables of a set need, then its migrations."""
    early = [item for item in definitions if (item.set_name, item.stage) == (set_name, BEFORE_TABLES)]
    await apply_definitions(connection, early)
    for migration in migrations:
        if migration.set_name == set_name:
            await connection.execute(migration.sql)
            await _record(connection, migration)


async def _carry_over(connection: AsyncConnection[DictRow], files: SchemaFiles) -> None:
    """Rewrite the record of a database of the version before the baseline, see `mnemic.db.version_before`."""
    baseline = carried_over(_core_checksums(await _read_applied(connection)), files.migrations)
    if not baseline:
        return
    await connection.execute(query("migrations.forget"), {"set_name": CORE_SET})
    for migration in baseline:
        await _record(connection, migration)
    old = {"set_name": CORE_SET, "name": RECORD_NAME, "checksum": "", "objects": list(OBJECTS)}
    await connection.execute(query("migrations.record_definitions"), {"rows": Jsonb([old])})


def _core_checksums(applied: Iterable[Applied]) -> list[tuple[int, str]]:
    return [(row.number, row.checksum) for row in applied if row.set_name == CORE_SET]


def _as_applied(baseline: Iterable[Migration], applied: Iterable[Applied]) -> Iterator[Applied]:
    """The baseline as it will be recorded, with the time of the last migration of the version before."""
    last = max((row for row in applied if row.set_name == CORE_SET), key=lambda row: row.number)
    for file in baseline:
        yield replace(last, number=file.number, title=file.title, checksum=file.checksum)


async def make_roles(connection: AsyncConnection[DictRow]) -> DictRow:
    """Create missing roles; returns what the database lacked, and what the current role may do."""
    needs = await require_privileges(connection)
    if needs["lacks_app_role"]:
        await connection.execute(query("provision.make_app_role"))
    if needs["lacks_definer_role"]:
        await connection.execute(query("provision.make_definer_role"))
    return needs


async def make_prerequisites(connection: AsyncConnection[DictRow]) -> DictRow:
    """Create missing roles and the extension; returns what the current role is and may do."""
    needs = await make_roles(connection)
    if needs["lacks_vector"]:
        await connection.execute(query("provision.make_vector_extension"))
    return needs


async def _read_applied(connection: AsyncConnection[DictRow]) -> list[Applied]:
    cursor = await connection.execute(query("migrations.applied"))
    return [Applied(**row) for row in await cursor.fetchall()]


async def _record(connection: AsyncConnection[DictRow], migration: Migration) -> None:
    await connection.execute(
        query("migrations.record"),
        {
            "set_name": migration.set_name,
            "number": migration.number,
            "title": migration.title,
            "checksum": migration.checksum,
        },
    )


async def _settle_key(connection: AsyncConnection[DictRow], wanted: SigningKey | None) -> SigningKey:
    """Store a signing key if there is none; ConfigurationError if `wanted` differs from the stored one."""
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
