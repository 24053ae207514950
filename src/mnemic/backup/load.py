"""Fill a new database with the rows of a backup.

A backup is data and nothing else: tables, functions, triggers, policies, indexes and defaults come from our
own migrations and definitions, so a forged file cannot make the database run anything. In one transaction:

1. Create the tables of the version that the backup has (`mnemic.db.migrate.tables_of_version`), and with our
   own functions those that a backup adds: one per embedding model, one per day of the memory log.
2. Drop the foreign keys and lift row-level security for the owner of the tables.
3. Copy the rows, with statements of our own: only into tables and columns that exist now.
4. Add the foreign keys again, which checks all rows, and force row-level security again.

There are no triggers yet: the definitions that create them are applied when the caller migrates the database
to the present version. A row that breaks a constraint is refused, and the transaction is rolled back.
"""

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from mnemic.backup.archive import Entry, data_of, list_entries
from mnemic.backup.copy_script import CopyScript, SequenceValue, TableRows
from mnemic.db.connection import AppConnection
from mnemic.db.migrate import Applied, migrations_of_version, tables_of_version
from mnemic.errors import InvalidInputError, MigrationError
from mnemic.sql import query
from mnemic.sql.migration_files import Migration

# A row each: what the backup says about itself, which is read and never copied.
DESCRIPTION_MAX_BYTES = 4 << 20
LOG_DAYS_MAX = 4000

OUR_SCHEMAS = frozenset({"mnemic", "state", "vectors", "traces", "queue"})
# The restored database has its own: they are made by migrations, or belong to the server of the backup.
NOT_COPIED = frozenset(
    ("mnemic", name) for name in ("migrations", "definitions", "vector_models", "word_forms", "pg_cron_entry")
)

_LOG_DAY = re.compile(r"memory_log_(\d{8})")
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

logger = logging.getLogger("mnemic.restore")

TableName = tuple[str, str]


@dataclass(frozen=True)
class Table:
    """A table of the new database."""

    oid: int
    name: TableName
    is_partitioned: bool
    forces_policies: bool
    columns: frozenset[str]

    @property
    def identifier(self) -> sql.Identifier:
        """The qualified name in a statement."""
        return sql.Identifier(*self.name)


@dataclass(frozen=True)
class BackupDescription:
    """What a backup says about itself: its parts, its migrations (our files) and its embedding models."""

    path: Path
    entries: tuple[Entry, ...]
    migrations: tuple[Migration, ...]
    models: tuple[tuple[str, int, str], ...]
    """Name, dimensions and table of each."""


async def describe(path: Path) -> BackupDescription:
    """Read what the backup says about itself; InvalidInputError if it is not one of Mnemic."""
    entries = await list_entries(path)
    migrations = await _small_table(path, entries, "migrations")
    models = await _small_table(path, entries, "vector_models")
    if not migrations:
        raise InvalidInputError(f"{path} is a PostgreSQL backup, but not one of Mnemic.")
    try:
        applied = [_applied(row) for row in migrations]
        used = tuple((row["model"], int(row["dimensions"]), row["table_name"]) for row in models)
    except (KeyError, ValueError) as error:
        raise _damaged(path, "its list of migrations or models is malformed") from error
    try:
        return BackupDescription(path, tuple(entries), migrations_of_version(applied), used)
    except MigrationError as error:
        raise type(error)(f"{path} cannot be restored. {error}") from error


async def load(connection: AppConnection, backup: BackupDescription) -> None:
    """Create the backup's tables in an empty database and fill them; all of it or nothing."""
    before = {table.oid for table in await _tables(connection)}
    try:
        async with tables_of_version(connection, backup.migrations):
            await _create_tables(connection, backup)
            tables = [table for table in await _tables(connection) if table.oid not in before]
            await _load_rows(connection, backup, {table.name: table for table in tables})
    except (psycopg.DataError, psycopg.IntegrityError) as error:
        raise _damaged(backup.path, f"the database refused its rows: {error.diag.message_primary}") from error


async def _create_tables(connection: AppConnection, backup: BackupDescription) -> None:
    """Create the tables that migrations do not: those of embedding models and of days."""
    for model, dimensions, table_name in backup.models:
        values = {"model": model, "dimensions": dimensions}
        cursor = await connection.execute(query("restore.create_vector_table"), values)
        created = await cursor.fetchone()
        if created is None or created["table_name"] != table_name:
            raise _damaged(backup.path, "the table of an embedding model has another name")
    names = (entry.name for entry in backup.entries if entry.schema == "traces")
    days = [found[1] for name in names if (found := _LOG_DAY.fullmatch(name))]
    if len(days) > LOG_DAYS_MAX:
        raise _damaged(backup.path, f"its memory log has more than {LOG_DAYS_MAX} days")
    for day in days:
        await connection.execute(query("restore.create_log_partition"), {"day": day})


async def _load_rows(
    connection: AppConnection, backup: BackupDescription, tables: dict[TableName, Table]
) -> None:
    oids = [table.oid for table in tables.values()]
    cursor = await connection.execute(query("restore.sequences"), {"oids": oids})
    sequences = {(row["schema_name"], row["sequence_name"]) for row in await cursor.fetchall()}
    chosen = _choose(backup, tables, sequences)
    cursor = await connection.execute(query("restore.foreign_keys"), {"oids": oids})
    by_oid = {table.oid: table.identifier for table in tables.values()}
    foreign_keys = [(by_oid[row["oid"]], row["name"], row["clause"]) for row in await cursor.fetchall()]
    await _prepare(connection, tables, foreign_keys)
    async with data_of(backup.path, chosen) as script:
        async for statement in script.statements():
            await _load_statement(connection, script, statement, tables, sequences)
    await _finish(connection, tables, foreign_keys)


def _choose(
    backup: BackupDescription, tables: dict[TableName, Table], sequences: set[TableName]
) -> list[Entry]:
    """The parts of the backup to copy. A table of ours that is missing, or that is not ours, is an error."""
    names = {(entry.schema, entry.name) for entry in backup.entries if entry.kind == "TABLE DATA"}
    needed = {name for name, table in tables.items() if not table.is_partitioned}
    if missing := sorted(needed - names):
        raise _damaged(backup.path, f"it lacks the table {'.'.join(missing[0])}")
    unknown = sorted(names - tables.keys())
    if ours := [name for name in unknown if name[0] in OUR_SCHEMAS]:
        raise InvalidInputError(
            f"{backup.path} has the table {'.'.join(ours[0])}, which neither this version of Mnemic nor an "
            "installed extension has. Install the extension it belongs to, or a newer Mnemic."
        )
    if unknown:
        logger.warning("%d tables of the backup are not Mnemic's and are not restored", len(unknown))
    known = (tables.keys() - NOT_COPIED) | sequences
    return [entry for entry in backup.entries if (entry.schema, entry.name) in known]


async def _prepare(
    connection: AppConnection,
    tables: dict[TableName, Table],
    foreign_keys: Sequence[tuple[sql.Identifier, str, str]],
) -> None:
    """Empty the tables, which migrations put rows into; drop foreign keys, lift row-level security."""
    copied = [table for name, table in tables.items() if name not in NOT_COPIED]
    listed = sql.SQL(", ").join(table.identifier for table in copied)
    await connection.execute(sql.SQL("TRUNCATE {}").format(listed))
    for table, name, _ in foreign_keys:
        await connection.execute(
            sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(table, sql.Identifier(name))
        )
    await _set_policies(connection, tables.values(), sql.SQL("NO FORCE"))


async def _finish(
    connection: AppConnection,
    tables: dict[TableName, Table],
    foreign_keys: Sequence[tuple[sql.Identifier, str, str]],
) -> None:
    for table, name, clause in foreign_keys:
        # The clause comes from the catalog of a database that our own migrations have just made.
        adding = sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} {}").format(
            table, sql.Identifier(name), sql.SQL(clause)
        )
        await connection.execute(adding)
    await _set_policies(connection, tables.values(), sql.SQL("FORCE"))


async def _set_policies(connection: AppConnection, tables: Iterable[Table], mode: sql.SQL) -> None:
    """Whether row-level security applies to the owner of the tables, who copies the rows."""
    for table in tables:
        if table.forces_policies:
            statement = sql.SQL("ALTER TABLE {} {} ROW LEVEL SECURITY").format(table.identifier, mode)
            await connection.execute(statement)


async def _load_statement(
    connection: AppConnection,
    script: CopyScript,
    statement: TableRows | SequenceValue,
    tables: dict[TableName, Table],
    sequences: set[TableName],
) -> None:
    if isinstance(statement, SequenceValue):
        if (statement.schema, statement.sequence) not in sequences:
            raise InvalidInputError("The backup sets a sequence that does not exist. Nothing was restored.")
        values = {
            "schema": statement.schema,
            "sequence": statement.sequence,
            "value": statement.value,
            "is_used": statement.is_used,
        }
        await connection.execute(query("restore.set_sequence"), values)
        return
    name = (statement.schema, statement.table)
    table = tables.get(name) if name not in NOT_COPIED else None
    if table is None or not table.columns.issuperset(statement.columns):
        raise InvalidInputError(
            f"The backup has rows for columns of {'.'.join(name)} that do not exist. Nothing was restored."
        )
    columns = sql.SQL(", ").join(map(sql.Identifier, statement.columns))
    copying = sql.SQL("COPY {} ({}) FROM STDIN").format(table.identifier, columns)
    async with connection.cursor().copy(copying) as copy:
        async for rows in script.rows():
            await copy.write(rows)


async def _tables(connection: AppConnection) -> list[Table]:
    cursor = await connection.execute(query("restore.tables"))
    return [
        Table(
            row["oid"],
            (row["schema_name"], row["table_name"]),
            row["is_partitioned"],
            row["forces_policies"],
            frozenset(row["columns"]),
        )
        for row in await cursor.fetchall()
    ]


async def _small_table(path: Path, entries: Sequence[Entry], name: str) -> list[dict[str, str]]:
    """The rows of a table of the schema mnemic, without its NULLs."""
    chosen = [entry for entry in entries if (entry.schema, entry.name) == ("mnemic", name)]
    if not chosen:
        return []
    found = list[dict[str, str]]()
    async with data_of(path, chosen) as script:
        async for statement in script.statements():
            if not isinstance(statement, TableRows) or statement.table != name:
                raise _damaged(path, f"it has no rows of {name} where they should be")
            text = bytearray()
            async for rows in script.rows():
                text += rows
                if len(text) > DESCRIPTION_MAX_BYTES:
                    raise _damaged(path, f"the table {name} is too large")
            found += [_row(statement.columns, line) for line in text.decode().split("\n")[:-1]]
    return found


def _row(columns: Sequence[str], line: str) -> dict[str, str]:
    """A row in the text format of COPY."""
    values = line.split("\t")
    return {
        column: _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), value)
        for column, value in zip(columns, values, strict=True)
        if value != "\\N"
    }


def _applied(row: dict[str, Any]) -> Applied:
    return Applied(
        row["set_name"],
        int(row["number"]),
        row["title"],
        row["checksum"],
        datetime.fromisoformat(row["applied_at"]),
        row["applied_by"],
    )


def _damaged(path: Path, how: str) -> InvalidInputError:
    return InvalidInputError(f"{path} is damaged or was altered: {how}. Nothing was restored.")
