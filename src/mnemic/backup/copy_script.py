"""Read the script that `pg_restore --data-only` writes: rows of tables, values of sequences, nothing else.

A backup is not trusted. `pg_restore` copies statements out of the file, so a forged file can contain any. The
script is therefore never run: this module accepts the few statements that carry data, and refuses a script
that contains another one. ::

    COPY state.tenants (tenant_id, name) FROM stdin;
    …rows, as bytes…
    \\.
    SELECT pg_catalog.setval('queue.event_inbox_inbox_id_seq', 3, true);
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

from mnemic.backup.postgres_tools import Read
from mnemic.errors import InvalidInputError

STATEMENT_MAX_BYTES = 1 << 18
# The longest column is the text of a document: 20 million characters, of four bytes each at most.
ROW_MAX_BYTES = 128 << 20

_END_OF_ROWS = b"\\.\n"
_NAME = r'(?:[a-z_][a-z0-9_$]*|"(?:[^"]|"")+")'
_COPY = re.compile(rf"COPY ({_NAME})\.({_NAME}) \(({_NAME}(?:, {_NAME})*)\) FROM stdin;\n")
_SEQUENCE = re.compile(rf"SELECT pg_catalog\.setval\('({_NAME})\.({_NAME})', (\d{{1,19}}), (true|false)\);\n")
_NAMES = re.compile(_NAME)
# Session settings and comments. They are skipped: the session that loads the rows has its own settings.
_SKIPPED = re.compile(
    r"\n|--[^\n]*\n|SET [a-z_]+ = [a-z0-9']+;\n|\\(?:un)?restrict [A-Za-z0-9]+\n"
    r"|SELECT pg_catalog\.set_config\('search_path', '', false\);\n",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class TableRows:
    """The start of a table's rows, which follow in the script."""

    schema: str
    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class SequenceValue:
    """The last value of a sequence, and whether it was used."""

    schema: str
    sequence: str
    value: int
    is_used: bool


class CopyScript:
    """A script that is read once, from top to bottom; after a `TableRows`, its `rows` come first."""

    def __init__(self, read: Read, *, max_bytes: int) -> None:
        self._read = read
        self._left_bytes = max_bytes
        self._buffer = b""

    async def statements(self) -> AsyncIterator[TableRows | SequenceValue]:
        """The statements that carry data; InvalidInputError at any other one."""
        while line := await self._line():
            if found := _COPY.fullmatch(line):
                columns = tuple(_unquoted(name) for name in _NAMES.findall(found[3]))
                yield TableRows(_unquoted(found[1]), _unquoted(found[2]), columns)
            elif found := _SEQUENCE.fullmatch(line):
                yield SequenceValue(
                    _unquoted(found[1]), _unquoted(found[2]), int(found[3]), found[4] == "true"
                )
            elif not _SKIPPED.fullmatch(line):
                raise InvalidInputError(
                    "The backup contains a statement that is not data, so it was forged or is damaged. "
                    "Nothing was restored."
                )

    async def rows(self) -> AsyncIterator[bytes]:
        """The rows of the table, as text for COPY, in pieces of any length."""
        while len(self._buffer) < len(_END_OF_ROWS):
            await self._fill_rows()
        if self._buffer.startswith(_END_OF_ROWS):
            self._buffer = self._buffer[len(_END_OF_ROWS) :]
            return
        row_bytes = 0
        while (end := self._buffer.find(b"\n" + _END_OF_ROWS)) < 0:
            # The last bytes may be the start of the end.
            piece, self._buffer = self._buffer[: -len(_END_OF_ROWS)], self._buffer[-len(_END_OF_ROWS) :]
            row_bytes = len(piece) - piece.rfind(b"\n") - 1 if b"\n" in piece else row_bytes + len(piece)
            if row_bytes > ROW_MAX_BYTES:
                raise InvalidInputError("The backup has a row that is too long. Nothing was restored.")
            yield piece
            await self._fill_rows()
        yield self._buffer[: end + 1]
        self._buffer = self._buffer[end + 1 + len(_END_OF_ROWS) :]

    async def _fill_rows(self) -> None:
        if not await self._fill():
            raise InvalidInputError("The backup is damaged: a table has no end. Nothing was restored.")

    async def _line(self) -> str:
        """The next line with its end; empty at the end of the script."""
        while (end := self._buffer.find(b"\n") + 1) == 0:
            if len(self._buffer) > STATEMENT_MAX_BYTES:
                raise InvalidInputError("The backup is damaged: a statement is too long.")
            if not await self._fill():
                end = len(self._buffer)
                break
        line, self._buffer = self._buffer[:end], self._buffer[end:]
        return line.decode(errors="replace")

    async def _fill(self) -> bool:
        chunk = await self._read()
        self._left_bytes -= len(chunk)
        if self._left_bytes < 0:
            raise InvalidInputError(
                "The backup unpacks to far more data than a backup of its size does. Nothing was restored."
            )
        self._buffer += chunk
        return bool(chunk)


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
