"""Export everything about an owner as JSON lines, and import it elsewhere.

The first line identifies the format. Each further line is one row of one table; referenced tables come
first, so the file can be read from top to bottom. Ids, history and relations are kept. The tenant is not
exported, and neither are vectors and counts: the importing side embeds the texts with its own model.

An import is one transaction. Existing rows stay as they are, so importing a file twice changes nothing. If
the owner has the same content under another id (the same text, the same turn, an entity of the same name),
the import fails with ConflictError. Rows of the logs are not imported.

A file is not trusted. Every row must belong to the owner that the first line names, and refer only to rows of
that owner; the tenant is the importing one. Keys and grants are imported as revoked ones.

Both are audited with the file name and the rows per table. The audit records belong to the owner and are
erased with it. A file that is not an export is refused before an audit record is written.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from psycopg.errors import UniqueViolation

from mnemic.backup.files import new_file, open_file
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import ConflictError, InvalidInputError
from mnemic.govern.audit import AuditedAct, audited, file_target
from mnemic.types.scope import Scope, check_name

FORMAT = "mnemic-export"
FORMAT_VERSION = 1
LINE_MAX_BYTES = 16 << 20
IMPORT_BATCH_ROWS = 500
IMPORT_BATCH_BYTES = 8 << 20

DOWNLOAD = "download"
"""The target of an audited export that a server sent to its caller."""

_NEVER_EXPORTED = ("vectors.", "queue.", "traces.owner_counts")
_NEVER_IMPORTED = ("traces.", "queue.", "vectors.")


@dataclass(frozen=True)
class Imported:
    """Imported rows per table, and how many memories of the tenant await embedding."""

    rows: dict[str, int]
    awaiting_embedding_count: int = 0

    @property
    def row_count(self) -> int:
        """Rows in all tables together."""
        return sum(self.rows.values())


class ExportedRow(NamedTuple):
    """One row of an export: its text in the file and the parsed values that the import needs."""

    table_name: str
    memory_id: Any
    text: bytes
    has_counts: bool
    """Whether the row has recall counts, as rows of memories had in older exports."""


async def export_owner(
    database: TenantDatabase, scope: Scope, path: Path, *, replace: bool
) -> dict[str, int]:
    """Write a consistent snapshot of the owner as JSON lines; returns the rows per table."""
    # The file of a server is temporary: its caller gets the content.
    target = file_target(path) if scope.request_id is None else DOWNLOAD
    async with audited(database, scope, action="export_owner", target=target, keeps_message=False) as act:
        with new_file(path, replace=replace) as file:
            counts = await _export(database, scope.require_owner(), file.write)
        act.outcome(rows=counts)
    return counts


async def import_owner(database: TenantDatabase, scope: Scope, path: Path) -> Imported:
    """Import an exported file completely or not at all; its memories are marked for embedding."""
    with open_file(path) as file:
        lines = _values(file)
        whose = replace(scope, owner=_read_header(lines))
        target = file_target(path)
        async with audited(database, whose, action="import_owner", target=target, keeps_message=False) as act:
            return await _import(database, whose.require_owner(), _read(lines), act)


async def _export(
    database: TenantDatabase, owner: str, write_line: Callable[[bytes], object]
) -> dict[str, int]:
    write_line(_line({"format": FORMAT, "version": FORMAT_VERSION, "owner": owner}))
    counts: dict[str, int] = {}
    async with database.transaction(snapshot=True) as transaction:
        await transaction.extend_timeout()
        for table_name in [row["table_name"] for row in await transaction.rows("owners.tables")]:
            if not table_name.startswith(_NEVER_EXPORTED):
                counts[table_name] = await _export_table(transaction, owner, table_name, write_line)
    return counts


async def _import(
    database: TenantDatabase, owner: str, lines: Iterable[ExportedRow], act: AuditedAct
) -> Imported:
    counts: dict[str, int] = {}
    try:
        async with (
            database.transaction(maintenance=True) as transaction,
            _only_own_references(transaction, owner),
        ):
            await transaction.execute("owners.defer_references")
            for batch in _batches(lines):
                imported = await _import_batch(transaction, owner, batch)
                counts[batch[0].table_name] = counts.get(batch[0].table_name, 0) + imported
            act.outcome(rows=counts)
            await act.commit_with(transaction)
    except ConflictError as error:
        raise _explained_conflict(error) from error.__cause__
    return Imported(counts)


@asynccontextmanager
async def _only_own_references(transaction: Transaction, owner: str) -> AsyncIterator[None]:
    """Refuse a block that lets rows of the owner refer to rows of another one."""
    parameters = {"owner": owner}
    before = await transaction.one("owners.count_foreign_references", parameters)
    yield
    after = await transaction.one("owners.count_foreign_references", parameters)
    if after["reference_count"] > before["reference_count"]:
        raise InvalidInputError("The export refers to rows of another owner. Nothing was imported.")


async def _import_batch(transaction: Transaction, owner: str, batch: list[ExportedRow]) -> int:
    table_name = batch[0].table_name
    parameters = {"table_name": table_name, "owner": owner, "lines": _as_array(batch)}
    imported = int((await transaction.one("owners.import", parameters))["imported"])
    if imported and table_name == "state.memories":
        ids = {"owner": owner, "ids": [line.memory_id for line in batch]}
        await transaction.execute("owners.mark_imported", ids)
        await transaction.execute("owners.count_imported_turns", ids)
        if counted := [line for line in batch if line.has_counts]:
            await transaction.execute(
                "owners.import_old_counts", {"owner": owner, "lines": _as_array(counted)}
            )
    return imported


def _as_array(lines: list[ExportedRow]) -> str:
    return (b"[%s]" % b",".join(line.text for line in lines)).decode()


def _explained_conflict(error: ConflictError) -> ConflictError:
    cause = error.__cause__
    if not isinstance(cause, UniqueViolation):
        return error
    return ConflictError(
        f"The owner already has some content of this export under another id (in {cause.diag.table_name}). "
        "Nothing was imported: import it into another tenant, or erase the owner here first."
    )


async def _export_table(
    transaction: Transaction, owner: str, table_name: str, write_line: Callable[[bytes], object]
) -> int:
    count = 0
    head = b'{"table": %s, "row": ' % json.dumps(table_name).encode()
    async for row in transaction.stream("owners.export", {"owner": owner, "table_name": table_name}):
        write_line(head + row["row"].encode() + b"}\n")
        count += 1
    return count


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def _read_header(lines: Iterator[tuple[bytes, dict[str, Any]]]) -> str:
    """The owner named in the first line; InvalidInputError if the file is not an export."""
    _, value = next(lines)
    _check_header(value)
    return check_name("The owner in the first line of the export", value.get("owner"))


def _read(lines: Iterator[tuple[bytes, dict[str, Any]]]) -> Iterator[ExportedRow]:
    """The rows after the first line, with the checks that the database does not do."""
    for number, (text, value) in enumerate(lines, start=2):
        table_name, row = value.get("table"), value.get("row")
        if not isinstance(table_name, str) or not isinstance(row, dict):
            raise InvalidInputError(f"Line {number} of the export is not a row. Nothing was imported.")
        if not table_name.startswith(_NEVER_IMPORTED):
            yield ExportedRow(table_name, row.get("memory_id"), text, has_counts="retrieval_count" in row)


def _check_header(value: dict[str, Any]) -> None:
    if value.get("format") != FORMAT:
        raise InvalidInputError("This is not an export of Mnemic: its first line does not name the format.")
    if value.get("version") != FORMAT_VERSION:
        raise InvalidInputError(
            f"The export has format version {value.get('version')!a}; this Mnemic reads {FORMAT_VERSION}."
        )


def _values(file: BinaryIO) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Each line as bytes and parsed."""
    number = 0
    while text := file.readline(LINE_MAX_BYTES):
        number += 1
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise InvalidInputError(f"Line {number} of the export is not JSON. Nothing was imported.")
        yield text, value
    if not number:
        raise InvalidInputError("The export is empty.")


def _batches(lines: Iterable[ExportedRow]) -> Iterator[list[ExportedRow]]:
    """Consecutive rows of one table, in bounded batches."""
    batch: list[ExportedRow] = []
    size_bytes = 0
    for line in lines:
        is_full = len(batch) == IMPORT_BATCH_ROWS or size_bytes + len(line.text) > IMPORT_BATCH_BYTES
        if batch and (is_full or line.table_name != batch[0].table_name):
            yield batch
            batch, size_bytes = [], 0
        batch.append(line)
        size_bytes += len(line.text)
    if batch:
        yield batch
