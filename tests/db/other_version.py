"""Other versions of Mnemic: copies of these sources with a changed schema, and processes that run them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import mnemic
from mnemic.sql.migration_files import all_migrations

SOURCES = Path(__file__).parents[2] / "src"
PROCESS = Path(__file__).with_name("version_process.py")
ANSWER_TIMEOUT_S = 120.0
COMMAND_LINES = """
import json, sys
from mnemic.cli.app import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["mnemic", *arguments]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
"""

NEW_COLUMN = "ALTER TABLE state.memories ADD COLUMN mood text;\n"


def copy_sources(folder: Path) -> Path:
    """A copy of the package, compiled files included, which `PYTHONPATH` can name."""
    # Other processes may be writing compiled files, under names of their own until they are whole.
    unfinished = shutil.ignore_patterns("*.pyc.*")
    shutil.copytree(Path(mnemic.__file__).parent, folder / "mnemic", ignore=unfinished)
    return folder


def with_new_migration(folder: Path) -> Path:
    """The next version: it has one migration more."""
    number = max(migration.number for migration in all_migrations()) + 1
    path = copy_sources(folder) / "mnemic" / "sql" / "migrations" / f"{number:04}_mood.sql"
    path.write_text(NEW_COLUMN)
    return folder


def with_changed_definition(folder: Path) -> Path:
    """Another version with the same tables: one of its functions differs."""
    definition = copy_sources(folder) / "mnemic" / "sql" / "definitions" / "memories" / "are_tags.sql"
    definition.write_text(definition.read_text() + "-- As the other version has it.\n")
    return folder


def run_commands(sources: Path, *commands: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run commands of `mnemic` with the given sources, in one process; the first that fails ends it."""
    return subprocess.run(
        [sys.executable, "-c", COMMAND_LINES, json.dumps(commands)],
        env=_environment(sources),
        capture_output=True,
        text=True,
        timeout=ANSWER_TIMEOUT_S,
    )


class VersionProcess:
    """A process that opens a data folder with the given sources, and retains each line that it is sent."""

    def __init__(self, sources: Path, data_dir: Path, *, waits_s: float) -> None:
        environment = _environment(sources) | {"MNEMIC_OTHER_VERSIONS_TIMEOUT_S": str(waits_s)}
        self.process = subprocess.Popen(
            [sys.executable, str(PROCESS), str(data_dir)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def answer(self) -> str:
        """The next line of its output."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def retain(self, text: str) -> str:
        """Let it retain a text; returns `retained`, or the error."""
        return self._ask(text)

    def count(self) -> str:
        """How many memories it sees."""
        return self._ask("")

    def _ask(self, line: str) -> str:
        assert self.process.stdin is not None
        print(line, file=self.process.stdin, flush=True)
        return self.answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.communicate(timeout=ANSWER_TIMEOUT_S)


def _environment(sources: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(sources)}
