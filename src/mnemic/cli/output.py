"""How commands speak: tables and colours where a terminal is there, JSON where it was asked for."""

import json
import unicodedata
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.table import Table

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


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
    made = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    return made
