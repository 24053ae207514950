"""Apply definitions (`mnemic.sql.definition_files`) to a database, and drop those without a file.

A definition is *current* while the checksum in ``mnemic.definitions`` is that of its file, and *outdated*
otherwise. Applying runs the whole file again; ``CREATE OR REPLACE`` keeps owners, privileges and dependent
objects.

PostgreSQL does not let ``CREATE OR REPLACE`` change a return type, the name of a parameter or the columns
of a view. Then the function or view is dropped and created. With other parameter types PostgreSQL would
create a second function of the same name; the earlier one is dropped. Nothing is ever dropped with CASCADE,
which could take a generated column with it. If another object depends on a dropped one, `MigrationError`
says so and the transaction is rolled back. The solution is a migration that drops the function with its
dependents: after any migration all definitions are applied again. A function that tables depend on gets a
new name instead, and a migration changes the tables to it.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from psycopg import AsyncConnection, errors, sql
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from mnemic.errors import MigrationError
from mnemic.sql import query
from mnemic.sql.definition_files import Definition


@dataclass(frozen=True)
class Recorded:
    """One row of ``mnemic.definitions``."""

    set_name: str
    name: str
    checksum: str
    objects: list[str]

    @property
    def label(self) -> str:
        """The same as `Definition.label`."""
        return f"{self.set_name}/{self.name}"


@dataclass(frozen=True)
class DefinitionChanges:
    """Definitions to apply and to drop, so that a database has those of this code."""

    outdated: tuple[Definition, ...]
    removed: tuple[Recorded, ...]


async def compare_definitions(
    connection: AsyncConnection[DictRow], definitions: Sequence[Definition], set_names: Collection[str]
) -> DefinitionChanges:
    """Compare the record with the files of the installed sets. Usually one query of one row per set."""
    cursor = await connection.execute(query("migrations.definition_digests"))
    digests = {row["set_name"]: row["digest"] for row in await cursor.fetchall()}
    if all(digests.get(name) == _digest(definitions, name) for name in set_names):
        return DefinitionChanges((), ())
    recorded = await read_recorded(connection, set_names)
    checksums = {row.label: row.checksum for row in recorded}
    files = {definition.label for definition in definitions}
    return DefinitionChanges(
        tuple(item for item in definitions if checksums.get(item.label) != item.checksum),
        tuple(row for row in recorded if row.label not in files),
    )


async def read_recorded(connection: AsyncConnection[DictRow], set_names: Collection[str]) -> list[Recorded]:
    """The record of the installed sets."""
    cursor = await connection.execute(query("migrations.definitions"))
    return [Recorded(**row) for row in await cursor.fetchall() if row["set_name"] in set_names]


async def apply_definitions(connection: AsyncConnection[DictRow], definitions: Sequence[Definition]) -> None:
    """Run the files in their order and record them; for use inside of the migration's transaction."""
    before = await _signatures(connection, definitions)
    if before:
        for definition in definitions:
            await _replace(connection, definition)
    else:
        # A new database: nothing is replaced, so one round trip is enough.
        await connection.execute("\n".join(definition.sql for definition in definitions))
    after = await _signatures(connection, definitions)
    created = {name for name, signature in after - before}
    await _drop_routines(
        connection, sorted(signature for name, signature in before & after if name in created)
    )
    rows = [
        {
            "set_name": item.set_name,
            "name": item.name,
            "checksum": item.checksum,
            "objects": list(item.objects),
        }
        for item in definitions
    ]
    await connection.execute(query("migrations.record_definitions"), {"rows": Jsonb(rows)})


async def drop_removed(
    connection: AsyncConnection[DictRow], recorded: Iterable[Recorded], definitions: Sequence[Definition]
) -> None:
    """Drop recorded objects that no file creates any more, and the records of removed files."""
    recorded = list(recorded)
    kept = {item for definition in definitions for item in definition.objects}
    unused = sorted({item for row in recorded for item in row.objects} - kept)
    await _drop(connection, unused)
    files = {definition.label for definition in definitions}
    for row in recorded:
        if row.label not in files:
            parameters = {"set_name": row.set_name, "name": row.name}
            await connection.execute(query("migrations.forget_definition"), parameters)


def _digest(definitions: Sequence[Definition], set_name: str) -> str | None:
    """The digest that `migrations.definition_digests` computes; None for a set without definitions."""
    lines = sorted(f"{item.name} {item.checksum}" for item in definitions if item.set_name == set_name)
    return sha256("\n".join(lines).encode()).hexdigest() if lines else None


async def _replace(connection: AsyncConnection[DictRow], definition: Definition) -> None:
    try:
        async with connection.transaction():
            await connection.execute(definition.sql)
    except (errors.InvalidFunctionDefinition, errors.InvalidTableDefinition, errors.WrongObjectType):
        await _drop(connection, [item for item in definition.objects if item.startswith(("ROUTINE", "VIEW"))])
        await connection.execute(definition.sql)


async def _signatures(
    connection: AsyncConnection[DictRow], definitions: Sequence[Definition]
) -> set[tuple[str, str]]:
    """Names and signatures of the existing routines of these definitions."""
    names = [
        item.removeprefix("ROUTINE ")
        for definition in definitions
        for item in definition.objects
        if item.startswith("ROUTINE ")
    ]
    cursor = await connection.execute(query("migrations.signatures"), {"names": names})
    return {(row["name"], row["signature"]) for row in await cursor.fetchall()}


async def _drop_routines(connection: AsyncConnection[DictRow], signatures: Sequence[str]) -> None:
    if signatures:
        # The signatures come from the server, with quoted names.
        listed = sql.SQL(", ").join([sql.SQL(signature) for signature in signatures])
        await _run_drop(connection, sql.SQL("DROP ROUTINE {}").format(listed))


async def _drop(connection: AsyncConnection[DictRow], objects: Sequence[str]) -> None:
    """Drop objects, each named as in `Definition.objects`; dependent objects first."""
    for kind in ("TRIGGER", "POLICY"):
        for item in objects:
            if item.startswith(f"{kind} "):
                name, table = item.removeprefix(f"{kind} ").split(" ON ")
                await _run_drop(
                    connection,
                    sql.SQL("DROP {} IF EXISTS {} ON {}").format(
                        sql.SQL(kind), sql.Identifier(name), sql.Identifier(*table.split("."))
                    ),
                )
    for kind in ("VIEW", "ROUTINE"):
        names = [item.removeprefix(f"{kind} ") for item in objects if item.startswith(f"{kind} ")]
        if names:
            # In one statement, so that objects that depend on each other can be dropped together.
            listed = sql.SQL(", ").join(sql.Identifier(*name.split(".")) for name in names)
            await _run_drop(connection, sql.SQL("DROP {} IF EXISTS {}").format(sql.SQL(kind), listed))


async def _run_drop(connection: AsyncConnection[DictRow], statement: sql.Composed) -> None:
    try:
        await connection.execute(statement)
    except errors.DependentObjectsStillExist as error:
        raise MigrationError(
            f"A definition was changed or removed that other objects depend on: {error.diag.message_detail}. "
            "Add a migration that drops it with them: after a migration all definitions are applied. "
            "If a table depends on it, give the function a new name and change the table in a migration."
        ) from error
