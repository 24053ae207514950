"""How commands speak: tables and colours where a terminal is there, JSON where it was asked for."""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column, Table
from rich.text import Text

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ID_CELLS = 36
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?")
GAP_CELLS = 2
DIFF_COLOURS = {"+": "green", "-": "red", "#": "bold cyan"}
# The narrowest that a wider column may become before a table turns into blocks.
READABLE_CELLS = 8
# Words up to this length are not broken, such as the type of a job.
WORD_CELLS = 24


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


NOTHING = "There is nothing to list."


def table(*columns: str, empty: str = NOTHING) -> Table:
    """A table without rows yet; if none are added, `empty` is printed instead."""
    made = _Table(box=None, header_style="bold", pad_edge=False)
    made.empty = empty
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


class _Table(Table):
    """A table that keeps ids and words whole: ids are copied into the next command.

    Texts of several words get narrower instead, and times last. Where the rest does not fit, each row becomes
    a block with a line per column.
    """

    empty = NOTHING

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not self.row_count:
            yield Text(self.empty)
            return
        widths = _fitting_widths(self.columns, options.max_width, whole_times=True)
        if widths is None:
            widths = _fitting_widths(self.columns, options.max_width, whole_times=False)
        if widths is None:
            yield from self._blocks()
            return
        for column, width in zip(self.columns, widths, strict=True):
            column.width = width
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


def _fitting_widths(columns: Sequence[Column], max_cells: int, *, whole_times: bool) -> list[int] | None:
    """Widths that keep ids and words whole, and times if asked; None if there is not enough room."""
    room = max_cells - GAP_CELLS * (len(columns) - 1)
    texts = [[str(column.header), *map(_shown_text, column.cells)] for column in columns]
    wanted = [max(cell_len(line) for cell in cells for line in cell.splitlines() or [""]) for cells in texts]
    widths = [
        min(most, _readable_cells(cells, whole_times)) for most, cells in zip(wanted, texts, strict=True)
    ]
    if sum(widths) > room:
        return None
    while sum(widths) < room and widths != wanted:
        narrow = [index for index, width in enumerate(widths) if width < wanted[index]]
        for index in narrow[: room - sum(widths)]:
            widths[index] += 1
    return widths


def _shown_text(cell: RenderableType) -> str:
    return Text.from_markup(cell).plain if isinstance(cell, str) else str(cell)


def _readable_cells(cells: Sequence[str], whole_times: bool) -> int:
    """The narrowest that a column of these cells may become."""
    words = [cell_len(word) for cell in cells for word in cell.split() if not ID.fullmatch(word)]
    ids = [ID_CELLS for cell in cells if ID.search(cell)]
    times = (
        [found.end() - found.start() for cell in cells if (found := TIME.search(cell))] if whole_times else []
    )
    return max([READABLE_CELLS, *ids, *times, *(word for word in words if word <= WORD_CELLS)])
