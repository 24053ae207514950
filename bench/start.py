"""Startup time: the embedded server for the first time and later, and the imports.

    python bench/start.py [--runs 7] [--json]

Prints medians and their limits, as the current user and, when that is root, also as an ordinary user.
The exit code is 1 when a median is over its limit. Each run uses a new interpreter; the clock starts
inside it, so the startup of Python itself is not counted.
"""

import argparse
import json
import os
import pwd
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from mnemic import Memory
from mnemic.db.embedded import stop

DEFAULT_RUNS = 7
RUN_TIMEOUT_S = 120.0
FIRST_START_LIMIT_S = 3.0
LATER_START_LIMIT_S = 0.5
IMPORT_LIMIT_S = 0.3
ORDINARY_USER = "daemon"
REPOSITORY = Path(__file__).resolve().parents[1]
AS_ORDINARY_USER = REPOSITORY / "tests" / "embedded" / "ordinary_user.py"
TIMED_IMPORT = "import time; began_s = time.perf_counter(); {}; print(time.perf_counter() - began_s)"


@contextmanager
def opened(data_dir: Path) -> Iterator[None]:
    """The measured step: open a memory, migrations included."""
    with Memory(data_dir=data_dir):
        yield


@dataclass(frozen=True)
class Measurement:
    """One row of the result. `median_s` is None where the measurement failed; `note` says why."""

    user: str
    what: str
    limit_s: float | None
    median_s: float | None
    note: str = ""

    @property
    def over(self) -> bool:
        return self.median_s is not None and self.limit_s is not None and self.median_s > self.limit_s


@dataclass(frozen=True)
class Interpreter:
    """A Python interpreter that runs as `user`; `prefix` is the command that switches to that user."""

    user: str
    prefix: tuple[str, ...] = ()

    def time_s(self, *arguments: str) -> float:
        """Run a program that prints seconds."""
        command = [*self.prefix, sys.executable, *arguments]
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "src")}
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=RUN_TIMEOUT_S, env=environment, cwd="/"
        )
        if done.returncode != 0:
            raise RuntimeError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
        return float(done.stdout)


def main() -> int:
    """Measure everything and print it, or, with --open, run one measurement."""
    parser = argparse.ArgumentParser(description="Measure startup times.")
    parser.add_argument("--runs", type=int, default=DEFAULT_RUNS, help="number of runs")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--open", type=Path, metavar="DATA_DIR", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.open is not None:
        return open_once(options.open)
    measurements = [row for interpreter in interpreters() for row in measure(interpreter, options.runs)]
    print(as_json(measurements) if options.json else as_table(measurements))
    return int(any(measurement.over for measurement in measurements))


def open_once(data_dir: Path) -> int:
    began_s = time.perf_counter()
    with opened(data_dir):
        print(time.perf_counter() - began_s)
    return 0 if stop(data_dir) else 1


def interpreters() -> list[Interpreter]:
    current = Interpreter(pwd.getpwuid(os.geteuid()).pw_name)
    if os.geteuid() != 0:
        return [current]
    return [current, Interpreter(ORDINARY_USER, (sys.executable, str(AS_ORDINARY_USER), ORDINARY_USER))]


def measure(python: Interpreter, runs: int) -> list[Measurement]:
    def importing(statement: str) -> Callable[[], float]:
        return lambda: python.time_s("-c", TIMED_IMPORT.format(statement))

    with folder_of(python.user) as folder:
        new_folders = (folder / f"data{number}" for number in range(runs))
        return [
            median(
                python, "first start", FIRST_START_LIMIT_S, runs, lambda: open_s(python, next(new_folders))
            ),
            median(
                python, "later start", LATER_START_LIMIT_S, runs, lambda: open_s(python, folder / "data0")
            ),
            median(python, "import mnemic", IMPORT_LIMIT_S, runs, importing("import mnemic")),
            # Loads everything that opening needs; it has no limit and is only reported.
            median(python, "import Memory", None, runs, importing("from mnemic import Memory")),
        ]


def open_s(python: Interpreter, data_dir: Path) -> float:
    return python.time_s(str(Path(__file__).resolve()), "--open", str(data_dir))


def median(
    python: Interpreter, what: str, limit_s: float | None, runs: int, run: Callable[[], float]
) -> Measurement:
    try:
        median_s = statistics.median(run() for _ in range(runs))
    except RuntimeError as error:
        return Measurement(python.user, what, limit_s, None, str(error))
    return Measurement(python.user, what, limit_s, median_s)


@contextmanager
def folder_of(user: str) -> Iterator[Path]:
    """An empty folder that belongs to the user."""
    folder = Path(tempfile.mkdtemp(prefix="mnemic-bench-"))
    entry = pwd.getpwnam(user)
    os.chown(folder, entry.pw_uid, entry.pw_gid)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def as_json(measurements: list[Measurement]) -> str:
    return json.dumps([asdict(measurement) for measurement in measurements], indent=2)


def as_table(measurements: list[Measurement]) -> str:
    lines = [f"{'user':<10} {'what':<14} {'median':>9} {'limit':>8}"]
    for row in measurements:
        seen = row.note if row.median_s is None else f"{row.median_s:7.3f} s"
        mark = "  over the limit" if row.over else ""
        limit = f"{row.limit_s:6.1f} s" if row.limit_s is not None else "       –"
        lines.append(f"{row.user:<10} {row.what:<14} {seen:>9} {limit}{mark}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
