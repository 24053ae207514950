"""Append the checksums of new migrations to the list of frozen ones.

python tools/freeze_migrations.py            append the line of each migration that has none
python tools/freeze_migrations.py --check    exit 1 when a line is missing

A migration runs once in each database. Editing, removing or renumbering it afterwards would leave two kinds
of databases under one number, so a line of the list is never changed: this program only appends, and it
refuses to run if a frozen migration differs from its line. `sha256sum -c frozen.txt` reads the list, too.
"""

import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "src" / "mnemic" / "sql" / "migrations"
LIST_NAME = "frozen.txt"


def frozen(folder: Path) -> dict[str, str]:
    """Checksums of the frozen migrations by file name."""
    listed = folder / LIST_NAME
    lines = listed.read_text("utf-8").splitlines() if listed.exists() else []
    return {name: checksum for checksum, _, name in (line.partition("  ") for line in lines)}


def violations(folder: Path) -> list[str]:
    """Sentences about migrations that were edited, removed, renamed or inserted after they were frozen."""
    found = _files(folder)
    listed = frozen(folder)
    problems = [
        f"{name} was removed or renamed after it had been committed: restore it."
        if name not in found
        else f"{name} was edited after it had been committed: restore it, and write a new migration."
        for name, checksum in listed.items()
        if found.get(name) != checksum
    ]
    numbers = {name[:4] for name in listed}
    return problems + [
        f"{name} has the number of a frozen migration: use the next free one."
        for name in found
        if name not in listed and name[:4] in numbers
    ]


def unlisted(folder: Path) -> dict[str, str]:
    """Checksums of the migrations that are not frozen yet, by file name in order."""
    listed = frozen(folder)
    return {name: checksum for name, checksum in _files(folder).items() if name not in listed}


def append_new(folder: Path) -> list[str]:
    """Append the lines of new migrations; returns their names."""
    new = unlisted(folder)
    with (folder / LIST_NAME).open("a", encoding="utf-8") as listed:
        listed.writelines(f"{checksum}  {name}\n" for name, checksum in new.items())
    return list(new)


def main(arguments: Sequence[str]) -> int:
    """Append or check; returns the exit code."""
    problems = violations(FOLDER)
    if "--check" in arguments:
        problems += [f"{name} is not in {LIST_NAME}: run `make generate`." for name in unlisted(FOLDER)]
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems or "--check" in arguments:
        return 1 if problems else 0
    append_new(FOLDER)
    return 0


def _files(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("[0-9]*_*.sql"))}


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
