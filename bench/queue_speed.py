"""How fast jobs are added, claimed and done, beside procrastinate and pgqueuer on the same server.

    python -m bench.queue_speed [--quick] [--json bench/results/queue.json]

1. Adding jobs one by one, and in calls of 1,000.
2. Draining a full queue of no-op jobs with 1 and with 4 worker processes, 10 and 100 jobs at a time each.
3. The time from adding a job in one process to its start in another one that is idle.

Each has its own database on one embedded server with fsync on, and their measurements alternate. pgqueuer and
Mnemic claim as many jobs as they run at a time; procrastinate always claims one. Mnemic does more per job: it
keeps the payload, the attempt, its worker and its duration, checks a tenant's policy, and is fair between
tenants. The machine may be shared, and half as fast a minute later: so the targets apply to ratios of
consecutive measurements, the median of all rounds. The exit code is 1 when a target is missed.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from rich.console import Console

from bench.competitors import REPOSITORY, Contestant, NotInstalledError, interpreter_of, quiet_environment
from bench.report import ReportLine, as_json, report_table, table_of
from mnemic.db.access import DATABASE_NAME
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer

INSTALL_TIMEOUT_S = 600.0
DRAIN_TIMEOUT_S = 600.0
POLL_S = 0.02
PROCESSES = (1, 4)
BATCHES = (10, 100)
LATENCY_TARGET_MS = 10.0

MNEMIC = Contestant("Mnemic", "bench.queue_on_mnemic", "keeps payload, attempt, worker and duration")
PGQUEUER = Contestant(
    "pgqueuer",
    "bench.queue_on_pgqueuer",
    "over asyncpg; logs state changes",
    ("pgqueuer==1.6.0", "asyncpg==0.31.0"),
    needs_database=True,
)
PROCRASTINATE = Contestant(
    "procrastinate",
    "bench.queue_on_procrastinate",
    "fetches one job at a time",
    ("procrastinate==3.10.0", "psycopg[binary,pool]==3.3.8"),
    needs_database=True,
)
# Whether unfinished jobs exist. Counting them repeatedly would slow down the measured queue.
ANY_LEFT = {
    "Mnemic": "SELECT EXISTS (SELECT FROM queue.jobs)",
    "pgqueuer": "SELECT EXISTS (SELECT FROM pgqueuer)",
    "procrastinate": "SELECT EXISTS (SELECT FROM procrastinate_jobs WHERE status IN ('todo', 'doing'))",
}


@dataclass(frozen=True)
class Sizes:
    """Numbers of jobs and rounds."""

    rounds: int = 5
    one: int = 500
    drained: int = 10_000
    drained_one_by_one: int = 1_000
    latencies: int = 120


QUICK = Sizes(rounds=1, one=200, drained=5_000, drained_one_by_one=1_000, latencies=60)


@dataclass
class Measured:
    """Measurements of one queue, a value for each round."""

    one_per_s: list[float] = field(default_factory=list)
    bulk_per_s: list[float] = field(default_factory=list)
    drained_per_s: dict[str, list[float]] = field(default_factory=dict)
    latency_ms: list[float] = field(default_factory=list)


class Queue:
    """One queue on the server, and the programs that work on it."""

    def __init__(self, contestant: Contestant, server: EmbeddedServer, folder: Path) -> None:
        self.contestant = contestant
        self.measured = Measured()
        self._interpreter = interpreter_of(contestant, INSTALL_TIMEOUT_S)
        self._environment = quiet_environment(contestant, folder)
        self._database = contestant.name.lower() if contestant.needs_database else DATABASE_NAME
        if contestant.needs_database:
            with psycopg.connect(
                server.conninfo(user=ADMIN_ROLE, dbname="postgres"), autocommit=True
            ) as admin:
                admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self._database)))
        self._conninfo = server.conninfo(user=ADMIN_ROLE, dbname=self._database)
        parts = conninfo_to_dict(self._conninfo)
        address = {"host": parts["host"], "port": int(str(parts.get("port", 5432)))}
        self._where = {
            "data_dir": str(server.data_dir),
            "server": {**address, "user": ADMIN_ROLE, "database": self._database},
        }

    @contextmanager
    def program(self, task: str, **options: Any) -> Iterator["subprocess.Popen[str]"]:
        """Start a program; when this returns, it is ready and waits for a line."""
        process = subprocess.Popen(
            [str(self._interpreter), "-m", self.contestant.driver],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
            env=dict(self._environment),
        )
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps({**self._where, "task": task, **options}) + "\n")
            process.stdin.flush()
            if process.stdout.readline() != "ready\n":
                raise RuntimeError(f"{self.contestant.name} did not start: {task}")
            yield process

    def do(self, task: str, **options: Any) -> tuple[float, list[str]]:
        """Run a task; the seconds it took, and the lines it printed."""
        with self.program(task, **options) as process:
            printed, _ = process.communicate("go\n")
        *lines, last = printed.splitlines()
        return float(json.loads(last)["seconds"]), lines

    def drain(self, processes: int, batch: int) -> float:
        """Run all jobs in the queue; returns the seconds that took."""
        with ExitStack() as stack:
            workers = [stack.enter_context(self.program("work", batch=batch)) for _ in range(processes)]
            admin = stack.enter_context(psycopg.connect(self._conninfo, autocommit=True))
            began_s = time.monotonic()
            for worker in workers:
                _send(worker, "go")
            while self._has_jobs(admin):
                assert time.monotonic() < began_s + DRAIN_TIMEOUT_S, "the queue does not become empty"
                time.sleep(POLL_S)
            seconds = time.monotonic() - began_s
            for worker in workers:
                worker.communicate("stop\n")
            return seconds

    def _has_jobs(self, admin: "psycopg.Connection[Any]") -> bool:
        (is_left,) = admin.execute(ANY_LEFT[self.contestant.name].encode()).fetchone() or (False,)
        return bool(is_left)

    def latencies_ms(self, count: int, batch: int) -> list[float]:
        """Times from adding a job to its start, on an idle worker in another process."""
        with self.program("work_timed", batch=batch) as worker:
            _send(worker, "go")
            time.sleep(1)  # until it listens
            _, added = self.do("enqueue_timed", count=count)
            time.sleep(1)
            printed, _ = worker.communicate("stop\n")
        begun = dict(line.split() for line in printed.splitlines() if not line.startswith("{"))
        pairs = (line.split() for line in added)
        return [1000 * (float(begun[number]) - float(at_s)) for number, at_s in pairs]


def _send(process: "subprocess.Popen[str]", word: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{word}\n")
    process.stdin.flush()


def measure(queues: list[Queue], sizes: Sizes) -> None:
    """Run all measurements, alternating between the queues."""
    for queue in queues:
        queue.do("setup")
    for _ in range(sizes.rounds):
        for queue in queues:
            queue.measured.one_per_s.append(sizes.one / queue.do("enqueue_one", count=sizes.one)[0])
            queue.drain(1, 100)
        for processes, batch in product(PROCESSES, BATCHES):
            for queue in queues:
                measure_drain(queue, sizes, processes, batch)
        for queue in queues:
            queue.measured.latency_ms += queue.latencies_ms(sizes.latencies, 10)


def measure_drain(queue: Queue, sizes: Sizes, processes: int, batch: int) -> None:
    """Fill one queue and drain it."""
    measured = queue.measured
    count = sizes.drained_one_by_one if queue.contestant is PROCRASTINATE else sizes.drained
    measured.bulk_per_s.append(count / queue.do("enqueue_bulk", count=count)[0])
    rates = measured.drained_per_s.setdefault(f"{processes} × {batch}", [])
    rates.append(count / queue.drain(processes, batch))


def report_lines(queues: list[Queue]) -> list[ReportLine]:
    """Mnemic relative to the faster of the others, round by round."""
    mnemic, *others = [queue.measured for queue in queues]
    p95 = statistics.quantiles(mnemic.latency_ms, n=20)[18]
    lines = [
        ReportLine(
            "enqueue to start, p95",
            f"{p95:.1f} ms",
            f"≤ {LATENCY_TARGET_MS:.0f} ms",
            p95 <= LATENCY_TARGET_MS,
        )
    ]
    for kind, rates in mnemic.drained_per_s.items():
        if others:
            fastest = (
                max(each) for each in zip(*(other.drained_per_s[kind] for other in others), strict=True)
            )
            ratio = statistics.median(ours / best for ours, best in zip(rates, fastest, strict=True))
            lines.append(
                ReportLine(f"drain, {kind}, relative to the faster", f"{ratio:.2f} times", "≥ 1", ratio >= 1)
            )
    return lines


def show(console: Console, queues: list[Queue]) -> None:
    """All rates."""
    kinds = list(queues[0].measured.drained_per_s)
    table = table_of("Jobs per second", "", "one by one", "in bulk", *kinds, "start p50 / p95 ms")
    for queue in queues:
        measured = queue.measured
        quantiles = statistics.quantiles(measured.latency_ms, n=20)
        table.add_row(
            queue.contestant.name,
            f"{statistics.median(measured.one_per_s):,.0f}",
            f"{statistics.median(measured.bulk_per_s):,.0f}",
            *(f"{statistics.median(measured.drained_per_s[kind]):,.0f}" for kind in kinds),
            f"{quantiles[9]:.1f} / {quantiles[18]:.1f}",
        )
    console.print(table)


def _queues(console: Console, server: EmbeddedServer, folder: Path) -> list[Queue]:
    """All queues that can be installed."""
    queues = []
    for contestant in (MNEMIC, PGQUEUER, PROCRASTINATE):
        try:
            queues.append(Queue(contestant, server, folder))
        except NotInstalledError as error:
            console.print(f"{contestant.name} is left out: {error}")
    return queues


def main() -> int:
    """Measure, print and write the results."""
    parser = argparse.ArgumentParser(description="Measure the queue.")
    parser.add_argument("--quick", action="store_true", help="fewer jobs and rounds")
    parser.add_argument("--json", type=Path, default=REPOSITORY / "bench" / "results" / "queue.json")
    given = parser.parse_args()
    console = Console()
    with (
        tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder,
        EmbeddedServer.start(Path(folder) / "server") as server,
    ):
        queues = _queues(console, server, Path(folder))
        measure(queues, QUICK if given.quick else Sizes())
    show(console, queues)
    lines = report_lines(queues)
    console.print(report_table("The queue", lines))
    results = {queue.contestant.name: asdict(queue.measured) for queue in queues}
    given.json.write_text(as_json({"queues": results}, lines))
    return 0 if all(line.met is not False for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
