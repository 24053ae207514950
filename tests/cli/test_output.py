"""Tables: ids stay whole however narrow the terminal is, so that they can be copied into the next command."""

import io
import re
from uuid import UUID, uuid4

import pytest
from rich.console import Console
from rich.text import Text

from mnemic import Memory
from mnemic.cli.output import out, table
from tests.cli.conftest import Run
from tools.generate_docs import cli_page

NARROW_CELLS = 60


def lines_of(*rows: tuple[str, ...], columns: tuple[str, ...]) -> list[str]:
    listing = table(*columns)
    for row in rows:
        listing.add_row(row[0], *map(Text, row[1:]))
    console = Console(file=io.StringIO(), width=NARROW_CELLS)
    console.print(listing)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_the_other_columns_wrap_before_an_id_does() -> None:
    memory_id, content = str(uuid4()), "Alice likes tea and cello music. " * 4
    lines = lines_of((memory_id, "2026-03-20", content), columns=("id", "when", "content"))
    assert lines[1].startswith(f"{memory_id}  2026-03-20  Alice")
    assert "".join(lines).count("tea") == 4
    assert max(map(len, lines)) <= NARROW_CELLS


def test_where_columns_would_be_too_narrow_each_row_becomes_a_block() -> None:
    first, second = str(uuid4()), str(uuid4())
    columns = ("id", "key", "name", "role", "created", "expires")
    lines = lines_of(
        (first, "mn_abcdefgh…", "a key for tests", "write", "2026-03-20", ""),
        (second, "mn_ijklmnop…", "another", "read", "2026-03-21", "2026-04-01"),
        columns=columns,
    )
    assert lines[0].split() == ["id", first]
    assert lines[2].split(maxsplit=1) == ["name", "a key for tests"]
    assert "expires" not in "".join(lines[:5])
    assert lines[6].split() == ["id", second]


def test_an_id_among_other_values_is_whole_and_the_others_wrap() -> None:
    memory_id = str(uuid4())
    lines = lines_of(("memory_id", memory_id), ("content", "tea " * 40), columns=("field", "value"))
    assert [line for line in lines if memory_id in line]
    assert "".join(lines).count("tea") == 40


def test_words_are_whole_and_texts_wrap() -> None:
    lines = lines_of(
        ("cleanup", "maintenance.owner_counts", "every day in the middle of the night"),
        columns=("schedule", "job", "when"),
    )
    assert lines[1].split()[:3] == ["cleanup", "maintenance.owner_counts", "every"]
    assert max(map(len, lines)) <= NARROW_CELLS


def test_an_empty_table_says_so() -> None:
    assert lines_of(columns=("id", "what")) == ["There is nothing to list."]


@pytest.mark.parametrize("command", ["memories list", "jobs list", "keys list"])
def test_commands_print_whole_ids_in_a_narrow_terminal(
    command: str, mnemic: Run, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out, "_width", NARROW_CELLS)
    wanted = made(command, memory)
    listed = mnemic(*command.split())
    assert [line for line in listed.out.splitlines() if str(wanted) in line], listed.out


def made(command: str, memory: Memory) -> UUID:
    """Something for the command to list; returns its id."""
    if command == "memories list":
        return memory.retain("Alice plays the cello and likes green tea.").memory_ids[0]
    if command == "jobs list":
        return memory.jobs.enqueue("webhooks.deliver", {}).job_id
    return memory.keys.create(role="read", name="a key with a rather long name").key_id


def test_times_stay_whole_where_there_is_room_and_wrap_before_a_row_becomes_a_block() -> None:
    shown = ("maintenance.owner_counts", "every day", "2026-03-20 10:00")
    lines = lines_of((*shown,), columns=("job", "when", "next"))
    assert lines[1].split() == ["maintenance.owner_counts", "every", "day", "2026-03-20", "10:00"]
    lines = lines_of((*shown, "2026-03-19 10:00"), columns=("job", "when", "next", "last"))
    assert lines[1].split()[-2:] == ["2026-03-20", "2026-03-19"]
    assert lines[2].split() == ["10:00", "10:00"]


def test_help_fits_into_80_columns_and_breaks_no_word(mnemic: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = " ".join(line.strip("│ ") for line in mnemic("retain", "--help").out.splitlines())
    assert "One of: factual, preference, behavioral," in " ".join(shown.split())
    assert "<bool>" not in shown


def test_no_help_names_a_type_of_python() -> None:
    assert re.findall(r"<(?:str|bool|int|float|list|Path)\b[^>]*>", cli_page()) == []
