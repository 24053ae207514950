"""Mnemic beside other stores: the same texts, the same ready vectors, on this machine, taking turns.

Each store runs in a process of its own (`bench/drivers`), the others in environments of their own, which are
made here by name and version from the package registry and kept for the next run. What cannot be installed
is left out, and the result says why. In every round each store starts from nothing.
"""

import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psycopg
from psycopg import sql

from bench.ready_vectors import random_vectors
from bench.sentences import sentences
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer, stop

REPOSITORY = Path(__file__).resolve().parents[1]
ENVIRONMENTS = REPOSITORY / "bench" / ".competitors"
INSTALL_TIMEOUT_S = 600.0
SEED = 5_000

TimeLeft = Callable[[], float]
"""How many seconds the whole benchmark may still take."""


@dataclass(frozen=True)
class Contestant:
    """A store that is measured. No requirements: it runs in Mnemic's own environment."""

    name: str
    driver: str
    requirements: tuple[str, ...] = ()
    needs_database: bool = False
    fairness: str = ""


MNEMIC = Contestant(
    "Mnemic",
    "bench.drivers.add_to_mnemic",
    fairness="every call durable (fsync) and atomic; indexed by words; duplicates, history, log, tenants checked",
)
# The one place that names versions.
COMPETITORS = (
    Contestant(
        "mem0",
        "bench.drivers.add_to_mem0",
        ("mem0ai==2.2.1", "qdrant-client==1.20.0", "numpy==2.4.6"),
        fairness="SQLite commits per row; no index by words without a download; bulk goes one by one",
    ),
    Contestant(
        "Chroma",
        "bench.drivers.add_to_chroma",
        ("chromadb==1.5.9", "numpy==2.4.6"),
        fairness="a batch of 5,461 is atomic, more are not; trigram index of the text, HNSW of the vectors",
    ),
    Contestant(
        "LangGraph",
        "bench.drivers.add_to_langgraph",
        ("langgraph-checkpoint-postgres==3.2.0", "psycopg[binary]==3.3.8", "numpy==2.4.6"),
        needs_database=True,
        fairness="same server, fsync on; flat halfvec; no index by words; a batch of 1,000 is atomic",
    ),
)


@dataclass(frozen=True)
class Speed:
    """What a store did in each round, per second; or why it did nothing."""

    name: str
    versions: tuple[str, ...] = ()
    fairness: str = ""
    bulk_per_s: list[float] = field(default_factory=list)
    one_per_s: list[float] = field(default_factory=list)
    problem: str = ""

    @property
    def bulk_median_per_s(self) -> float | None:
        return statistics.median(self.bulk_per_s) if self.bulk_per_s else None

    @property
    def one_median_per_s(self) -> float | None:
        return statistics.median(self.one_per_s) if self.one_per_s else None


def measure_side_by_side(
    folder: Path, *, bulk_count: int, one_count: int, rounds: int, time_left_s: TimeLeft
) -> list[Speed]:
    """Everybody's speed, Mnemic first. `folder` is for whatever the stores write, and is emptied again."""
    work = folder / "work"
    _write_work(work, count=bulk_count + one_count + WARM_UP_ALLOWANCE)
    contestants = (MNEMIC, *COMPETITORS)
    speeds = {each.name: Speed(each.name, each.requirements, each.fairness) for each in contestants}
    interpreters = {}
    for each in contestants:
        interpreter, problem = _interpreter(each, time_left_s)
        interpreters[each.name] = interpreter
        speeds[each.name] = _with_problem(speeds[each.name], problem)
    for number in range(rounds):
        # Whoever was first in one round is last in the next.
        for each in contestants if number % 2 == 0 else reversed(contestants):
            if not speeds[each.name].problem:
                run = _Run(each, interpreters[each.name], work, bulk_count, time_left_s)
                speeds[each.name] = _with_round(speeds[each.name], run, folder / "store")
    shutil.rmtree(work)
    return list(speeds.values())


# Texts that the drivers use before the clock starts.
WARM_UP_ALLOWANCE = 5


def _write_work(work: Path, *, count: int) -> None:
    work.mkdir()
    (work / "texts.json").write_text(json.dumps(sentences(count, seed=SEED)), "utf-8")
    np.save(work / "vectors.npy", random_vectors(count, seed=SEED))


@dataclass(frozen=True)
class _Run:
    """One store, one round."""

    contestant: Contestant
    interpreter: Path
    work: Path
    bulk_count: int
    time_left_s: TimeLeft

    def run(self, store: Path) -> tuple[float, float]:
        """Additions per second, in bulk and one by one; RuntimeError with the last words of a driver that fails."""
        result = store / "result.json"
        with _database(store) if self.contestant.needs_database else _no_database() as conninfo:
            command = [str(self.interpreter), "-m", self.contestant.driver, str(self.work)]
            command += [str(store / "data"), str(result), "--bulk-count", str(self.bulk_count)]
            _checked(
                [*command, "--conninfo", conninfo], self.time_left_s(), cwd=REPOSITORY, home=store / "home"
            )
        times = json.loads(result.read_text())
        return times["bulk_count"] / times["bulk_s"], len(times["one_s"]) / sum(times["one_s"])


def _with_round(speed: Speed, run: _Run, store: Path) -> Speed:
    for name in ("data", "home"):
        (store / name).mkdir(parents=True)
    try:
        bulk_per_s, one_per_s = run.run(store)
    except RuntimeError as error:
        return _with_problem(speed, str(error))
    finally:
        shutil.rmtree(store)
    return Speed(
        speed.name,
        speed.versions,
        speed.fairness,
        [*speed.bulk_per_s, bulk_per_s],
        [*speed.one_per_s, one_per_s],
    )


def _with_problem(speed: Speed, problem: str) -> Speed:
    return Speed(
        speed.name,
        speed.versions,
        speed.fairness,
        speed.bulk_per_s,
        speed.one_per_s,
        speed.problem or problem,
    )


def _interpreter(contestant: Contestant, time_left_s: TimeLeft) -> tuple[Path, str]:
    """The Python that has the store installed, and why there is none if so."""
    if not contestant.requirements:
        return Path(sys.executable), ""
    stamp = hashlib.sha256(json.dumps([sys.version, contestant.requirements]).encode()).hexdigest()[:12]
    place = ENVIRONMENTS / f"{contestant.name.lower()}-{stamp}"
    interpreter, complete = place / "bin" / "python", place / "complete"
    if complete.exists():
        return interpreter, ""
    try:
        venv.create(place, clear=True, with_pip=True)
        command = [
            str(interpreter),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-input",
            *contestant.requirements,
        ]
        _checked(command, min(INSTALL_TIMEOUT_S, time_left_s()), home=None)
    except (OSError, subprocess.CalledProcessError, RuntimeError) as error:
        shutil.rmtree(place, ignore_errors=True)
        return interpreter, f"cannot be installed: {error}"
    complete.touch()
    return interpreter, ""


def _checked(command: list[str], timeout_s: float, *, cwd: Path | None = None, home: Path | None) -> None:
    """Run a program in a quiet environment; RuntimeError if it fails or takes too long.

    `home` keeps what it writes into a user's home in the folder of the run; installing keeps the real one
    for the settings of pip.
    """
    quiet = {"ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False", "HF_HUB_OFFLINE": "1"}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | quiet
    if home is not None:
        environment |= {"HOME": str(home), "MEM0_DIR": str(home / "mem0")}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=max(timeout_s, 0),
            cwd=cwd,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"took longer than the {timeout_s:.0f} s that were left") from None
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])


@contextmanager
def _database(store: Path) -> Iterator[str]:
    """A fresh embedded server with an empty database in it."""
    data_dir = store / "server"
    try:
        with EmbeddedServer.start(data_dir) as server:
            conninfo = server.conninfo(user=ADMIN_ROLE, dbname="postgres")
            with psycopg.connect(conninfo, autocommit=True) as connection:
                connection.execute(sql.SQL("CREATE DATABASE bench"))
            yield server.conninfo(user=ADMIN_ROLE, dbname="bench")
    finally:
        stop(data_dir)


@contextmanager
def _no_database() -> Iterator[str]:
    yield ""
