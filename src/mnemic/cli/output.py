"""How commands speak: tables and colours where a terminal is there, JSON where it was asked for."""

import json
import re
import unicodedata
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ID_CELLS = 36
GAP_CELLS = 2
DIFF_COLOURS = {"+": "green", "-": "red", "#": "bold cyan"}
# The narrowest that a wider column may become before a table turns into blocks.
READABLE_CELLS = 8


def complain(message: str) -> None:
    """Print an error for people, on standard error."""
    err.print("[bold red]Error:[/]", end=" ")
    err.print(message, markup=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """Print one JSON document on standard output, whatever the terminal is."""
    # At once: a program that goes on running, such as a server, may have its reader wait for this.
    print(json.dumps(value, indent=2, default=_plain, ensure_ascii=False), flush=True)


def print_json_line(value: Any) -> None:
    """Print one JSON document on a line of its own, where more of them follow."""
    print(json.dumps(value, default=_plain, ensure_ascii=False), flush=True)


def _plain(value: object) -> str:
    """What JSON has no word for, as text; times in ISO 8601."""
    return value.isoformat() if isinstance(value, datetime) else str(value)


def remark(text: str) -> None:
    """Tell people something on standard error that is no error; standard output stays as it is."""
    err.print(one_line(text), style="dim", markup=False, soft_wrap=True)


def one_line(text: str) -> str:
    """Somebody's own words in one line, without the control characters that a terminal would obey."""
    visible = (" " if unicodedata.category(character) == "Cc" else character for character in text)
    return " ".join("".join(visible).split())


def print_diff(text: str) -> None:
    """Print a diff, its lines coloured by their first character."""
    for line in text.splitlines():
        out.print(Text(line, style=DIFF_COLOURS.get(line[:1], "")), soft_wrap=True)


def print_backlog(count: int) -> None:
    """Say that memories were stored without a vector, and what to do about it."""
    out.print(
        f"[yellow]{count} could not be embedded and are found by their words only; "
        "run `mnemic embed` later.[/]"
    )


def print_line(text: str) -> None:
    """Print a line that holds somebody's own words, such as a path: no markup, no line breaks of ours."""
    out.print(text, markup=False, soft_wrap=True)


def table(*columns: str) -> Table:
    """An empty table in the house's look."""
    made = _Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


class _Table(Table):
    """A table that keeps ids whole, to be copied into the next command.

    Other columns get narrower instead. Where they would get too narrow to be read, each row becomes a block
    with a line per column.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        readable_cells = 0
        for column in self.columns:
            filled = [str(cell) for cell in column.cells if str(cell)]
            ids = [cell for cell in filled if ID.fullmatch(cell)]
            if ids:
                column.min_width = ID_CELLS
                # Otherwise rich narrows this column first, and then cuts the line off at the right.
                column.no_wrap = len(ids) == len(filled)
            widest = max(map(cell_len, [str(column.header), *filled]))
            readable_cells += min(widest, ID_CELLS if ids else READABLE_CELLS)
        needed_cells = readable_cells + GAP_CELLS * (len(self.columns) - 1)
        if needed_cells > options.max_width and any(column.no_wrap for column in self.columns):
            yield from self._blocks()
        else:
            yield from super().__rich_console__(console, options)

    def _blocks(self) -> Iterator[RenderableType]:
        for row in zip(*(column.cells for column in self.columns), strict=True):
            block = Table.grid(padding=(0, GAP_CELLS, 0, 0))
            block.add_column(style=self.header_style, no_wrap=True)
            block.add_column(overflow="fold")
            for column, cell in zip(self.columns, row, strict=True):
                if str(cell):
                    block.add_row(column.header, cell)
            yield block
            yield ""
