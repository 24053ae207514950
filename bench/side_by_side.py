"""Writing in Mnemic and in other stores: the same texts and vectors, on this machine, alternating.

Each store runs in its own process (`bench/drivers`). In every round each starts empty, and all are open at
once: first each is filled in bulk, then single additions follow, a few for each store in turn. So other work
on the machine affects all of them, and the ratios of a round are valid even if its rates are not.
"""

import json
import queue
import shutil
import statistics
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import psycopg

from bench.competitors import (
    COMPETITORS,
    MNEMIC,
    REPOSITORY,
    Contestant,
    NotInstalledError,
    interpreter_of,
    quiet_environment,
)
from bench.precomputed_vectors import random_vectors
from bench.sentences import sentences
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer, stop
from mnemic.models.engine import FloatArray

SEED = 5_000
WARM_UP_COUNT = 5
SINGLES_PER_TURN = 10
STOP_TIMEOUT_S = 30.0

Command = Literal["bulk", "single", "settle", "search", "fill", "recall"]

TimeLeft = Callable[[], float]
"""How many seconds the whole benchmark may still take."""


@dataclass
class Speed:
    """Memories per second of a store in each round; `problem` says why it could not be measured."""

    name: str
    fairness: str
    versions: tuple[str, ...]
    bulk_per_s: list[float] = field(default_factory=list)
    single_per_s: list[float] = field(default_factory=list)
    problem: str = ""


def median_ratio(ours: list[float], theirs: list[float]) -> float | None:
    """Median over the rounds of `ours` / `theirs`; None if the other store could not be measured."""
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=False)]
    return statistics.median(ratios) if ratios else None


def measure_side_by_side(
    folder: Path, *, bulk_count: int, single_count: int, rounds: int, time_left_s: TimeLeft
) -> list[Speed]:
    """The speed of all stores, Mnemic first. The stores write into `folder`."""
    work = folder / "work"
    count = WARM_UP_COUNT + bulk_count + single_count
    write_work(work, sentences(count, seed=SEED), random_vectors(count, seed=SEED))
    contestants = (MNEMIC, *COMPETITORS)
    speeds = {each: Speed(each.name, each.fairness, each.requirements) for each in contestants}
    interpreters = dict(_interpreters(speeds, time_left_s))
    for number in range(rounds):
        # Reverse the order in every round.
        able = [each for each in contestants if not speeds[each].problem]
        order = able if number % 2 == 0 else able[::-1]
        stores = folder / f"round-{number}"
        with ExitStack() as stack:
            drivers = {
                each: stack.enter_context(open_driver(each, interpreters[each], work, stores, time_left_s))
                for each in order
            }
            _measure_round(drivers, speeds, bulk_count, single_count)
        shutil.rmtree(stores)
    return list(speeds.values())


def write_work(work: Path, texts: list[str], vectors: FloatArray) -> None:
    """Write the texts and vectors for the drivers."""
    work.mkdir()
    (work / "texts.json").write_text(json.dumps(texts), "utf-8")
    np.save(work / "vectors.npy", vectors)


def _interpreters(
    speeds: dict[Contestant, Speed], time_left_s: TimeLeft
) -> Iterator[tuple[Contestant, Path]]:
    for contestant, speed in speeds.items():
        try:
            yield contestant, interpreter_of(contestant, time_left_s())
        except NotInstalledError as error:
            speed.problem = str(error)


def _measure_round(
    drivers: dict[Contestant, "Driver"], speeds: dict[Contestant, Speed], bulk_count: int, single_count: int
) -> None:
    """Bulk for each store, then alternating single additions; a store that fails is left out from then on."""
    single_s = dict.fromkeys(drivers, 0.0)
    singles_start = WARM_UP_COUNT + bulk_count
    turns: list[tuple[Literal["warm-up", "bulk", "single"], int, int]] = [
        ("warm-up", 0, WARM_UP_COUNT),
        ("bulk", WARM_UP_COUNT, bulk_count),
    ]
    for start in range(0, single_count, SINGLES_PER_TURN):
        turns.append(("single", singles_start + start, min(SINGLES_PER_TURN, single_count - start)))
    for what, start, count in turns:
        for contestant, driver in drivers.items():
            speed = speeds[contestant]
            if speed.problem:
                continue
            try:
                done = driver.send("bulk" if what == "bulk" else "single", start=start, count=count)
            except DriverError as error:
                speed.problem = str(error)
                continue
            if what == "bulk":
                speed.bulk_per_s.append(done["count"] / done["took_s"])
            elif what == "single":
                single_s[contestant] += done["took_s"]
    for contestant, took_s in single_s.items():
        if not speeds[contestant].problem:
            speeds[contestant].single_per_s.append(single_count / took_s)


class DriverError(Exception):
    """A driver failed or took too long; the message says how."""


class Driver:
    """A running driver. A thread reads its replies, so that waiting can have a timeout."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path, time_left_s: TimeLeft) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._commands: IO[str] = process.stdin
        self._log = log
        self._time_left_s = time_left_s
        self._output: IO[str] = process.stdout
        self._replies: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=_read, args=(self._output, self._replies), daemon=True)
        self._reader.start()

    def reply(self) -> dict[str, Any]:
        """The next reply; DriverError if there is none in time."""
        try:
            line = self._replies.get(timeout=max(self._time_left_s(), 0.0))
        except queue.Empty:
            raise DriverError("took longer than the time limit") from None
        if not line:
            said = self._log.read_text(errors="replace").strip().splitlines()
            raise DriverError(f"failed: {said[-1] if said else 'no output'}")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def send(self, what: Command, **details: object) -> dict[str, Any]:
        """Send a command (see the driver, such as `bench/drivers/workload.py`) and return the reply."""
        with suppress(BrokenPipeError):  # The reply says why.
            print(json.dumps({"do": what, **details}), file=self._commands, flush=True)
        return self.reply()

    def stop(self) -> None:
        """Let the driver close its store and exit; kill it after a timeout."""
        try:
            self._commands.close()
            self._process.wait(STOP_TIMEOUT_S)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._output.close()


def _read(output: IO[str], replies: "queue.SimpleQueue[str]") -> None:
    for line in output:
        replies.put(line)
    replies.put("")


@contextmanager
def open_driver(
    contestant: Contestant,
    interpreter: Path,
    work: Path,
    stores: Path,
    time_left_s: TimeLeft,
    embedder: str = "",
) -> Iterator[Driver]:
    """A driver with an empty store. For searching, `embedder` is the socket of the embedding service."""
    folder = stores / contestant.name
    for name in ("data", "home"):
        (folder / name).mkdir(parents=True)
    log = folder / "log"
    with ExitStack() as stack:
        conninfo = stack.enter_context(_database(folder)) if contestant.needs_database else ""
        command = [str(interpreter), "-m", contestant.driver, str(work), str(folder / "data")]
        process = subprocess.Popen(
            [*command, "--conninfo", conninfo, "--variant", contestant.variant, "--embedder", embedder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stack.enter_context(log.open("w")),
            text=True,
            cwd=REPOSITORY,
            env=quiet_environment(contestant, folder / "home"),
        )
        driver = Driver(process, log, time_left_s)
        stack.callback(driver.stop)
        yield driver


@contextmanager
def _database(folder: Path) -> Iterator[str]:
    """A fresh embedded server with an empty database in it."""
    data_dir = folder / "server"
    try:
        with EmbeddedServer.start(data_dir) as server:
            conninfo = server.conninfo(user=ADMIN_ROLE, dbname="postgres")
            with psycopg.connect(conninfo, autocommit=True) as connection:
                connection.execute("CREATE DATABASE bench")
            yield server.conninfo(user=ADMIN_ROLE, dbname="bench")
    finally:
        stop(data_dir)
