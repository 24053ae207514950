"""Export all that is held about an owner as JSON lines, and import it elsewhere.

The first line says what the file is. Each line after it is one row of one table, tables that others
refer to first, so that the file can be read from top to bottom. Ids, history and relations are kept;
the tenant is not part of it. Vectors are not either: they are made anew from the words, by whatever
model the new place uses.

An import is one transaction. Rows that are there already stay as they are, so that importing a file
twice changes nothing. What the logs say happened in the old place stays there.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import InvalidInputError
from mnemic.types.scope import Scope

FORMAT = "mnemic-export"
FORMAT_VERSION = 1
LINE_MAX_BYTES = 16 << 20
IMPORT_BATCH_ROWS = 500

_NEVER_EXPORTED = ("vectors.", "queue.")
_NEVER_IMPORTED = ("traces.",)


@dataclass(frozen=True)
class Imported:
    """How many rows an import brought, per table."""

    rows: dict[str, int]

    @property
    def row_count(self) -> int:
        """Rows in all tables together."""
        return sum(self.rows.values())


async def export_owner(
    database: TenantDatabase, scope: Scope, write_line: Callable[[bytes], object]
) -> dict[str, int]:
    """Write all of the owner's as JSON lines, as of one moment; returns the rows per table."""
    owner = scope.require_owner()
    write_line(_line({"format": FORMAT, "version": FORMAT_VERSION, "owner": owner}))
    counts: dict[str, int] = {}
    async with database.transaction(snapshot=True) as transaction:
        for table_name in [row["table_name"] for row in await transaction.rows("owners.tables")]:
            if not table_name.startswith(_NEVER_EXPORTED):
                counts[table_name] = await _export_table(transaction, owner, table_name, write_line)
    return counts


async def import_owner(database: TenantDatabase, lines: BinaryIO) -> Imported:
    """Take an exported file in, all of it or nothing; its memories are marked for embedding."""
    rows = _read(lines)
    counts: dict[str, int] = {}
    async with database.transaction(maintenance=True) as transaction:
        await transaction.execute("owners.defer_references")
        for table_name, batch in _batches(rows):
            parameters = {"table_name": table_name, "rows": json.dumps(batch)}
            imported = (await transaction.one("owners.import", parameters))["imported"]
            counts[table_name] = counts.get(table_name, 0) + imported
            if imported and table_name == "state.memories":
                await transaction.execute(
                    "owners.mark_imported", {"ids": [row["memory_id"] for row in batch]}
                )
    return Imported(counts)


async def _export_table(
    transaction: Transaction, owner: str, table_name: str, write_line: Callable[[bytes], object]
) -> int:
    count = 0
    async for row in _stream(transaction, owner, table_name):
        write_line(_line({"table": table_name, "row": row}))
        count += 1
    return count


async def _stream(transaction: Transaction, owner: str, table_name: str) -> AsyncIterator[Any]:
    parameters = {"owner": owner, "table_name": table_name}
    async for row in transaction.stream("owners.export", parameters):
        yield row["row"]


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def _read(lines: BinaryIO) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a file, checked as far as the database does not check them anyway."""
    for number, value in enumerate(_values(lines), start=1):
        if number == 1:
            if value.get("format") != FORMAT:
                raise InvalidInputError("This is not an export of Mnemic: its first line does not say so.")
            if value.get("version") != FORMAT_VERSION:
                raise InvalidInputError(
                    f"The export has format version {value.get('version')!a}; "
                    f"this Mnemic reads {FORMAT_VERSION}."
                )
            continue
        table_name, row = value.get("table"), value.get("row")
        if not isinstance(table_name, str) or not isinstance(row, dict):
            raise InvalidInputError(f"Line {number} of the export is not a row. Nothing was imported.")
        if not table_name.startswith(_NEVER_IMPORTED):
            yield table_name, row


def _values(lines: BinaryIO) -> Iterator[dict[str, Any]]:
    number = 0
    while line := lines.readline(LINE_MAX_BYTES):
        number += 1
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise InvalidInputError(f"Line {number} of the export is not JSON. Nothing was imported.")
        yield value
    if not number:
        raise InvalidInputError("The export is empty.")


def _batches(
    rows: Iterable[tuple[str, dict[str, Any]]],
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Neighbouring rows of one table together, in bounded batches."""
    current, batch = "", list[dict[str, Any]]()
    for table_name, row in rows:
        if batch and (table_name != current or len(batch) == IMPORT_BATCH_ROWS):
            yield current, batch
            batch = []
        current = table_name
        batch.append(row)
    if batch:
        yield current, batch
