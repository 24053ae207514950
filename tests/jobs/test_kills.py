"""Workers that are killed, in processes of their own: nothing is lost, nothing runs twice at once.

In the suite it is a small run; with SLOW_TESTS=1 (`make test-slow`) one with 2,000 jobs and many kills.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.db.access import Access
from mnemic.jobs.failure_detector import DEAD_AFTER_S
from mnemic.jobs.heartbeat import BEAT_EVERY_S
from mnemic.jobs.worker import RECOVER_EVERY_S
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection
from tests.jobs.working_process import PROBE
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
IS_SLOW = "SLOW_TESTS" in os.environ
JOBS = 2_000 if IS_SLOW else 400
KILLS = 15 if IS_SLOW else 3
WORKERS = 3
START_TIMEOUT_S = 60.0
END_TIMEOUT_S = 300.0
# Other workers notice within 17 s. Counted in their heartbeats, which a busy machine delays as well.
NOTICED_WITHIN_BEATS = 2 * (DEAD_AFTER_S + RECOVER_EVERY_S) / BEAT_EVERY_S

NOT_ENDED = "SELECT count(*) FROM queue.jobs"
BEATS = "SELECT max(beats) FROM mnemic.workers"


class Processes:
    """Worker processes of one database."""

    def __init__(self, access: Access) -> None:
        self._orders = json.dumps({"conninfo": access.conninfo(), "key": access.key.secret.hex()})
        self._running: list[subprocess.Popen[str]] = []

    def start(self) -> subprocess.Popen[str]:
        """Start one; it works when this returns."""
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.jobs.working_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
        )
        self._running.append(process)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{self._orders}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n"
        return process

    def kill(self, process: subprocess.Popen[str]) -> None:
        process.kill()
        self._close(process)

    def stop(self) -> None:
        for process in tuple(self._running):
            self.kill(process)

    def _close(self, process: subprocess.Popen[str]) -> None:
        process.wait(START_TIMEOUT_S)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()
        self._running.remove(process)


@pytest.fixture
def processes(access: Access) -> Iterator[Processes]:
    made = Processes(access)
    yield made
    made.stop()


def number(admin: AppConnection, statement: str) -> int:
    (value,) = admin.execute(statement.encode()).fetchone() or (0,)
    return int(str(value))


async def test_workers_are_killed_at_random_and_every_job_is_done(
    memory: AsyncMemory, processes: Processes, admin: AppConnection
) -> None:
    admin.execute(PROBE)
    chance = random.Random(7)
    living = [processes.start() for _ in range(WORKERS)]
    await memory.jobs.enqueue_many("step", [{"n": n} for n in range(JOBS)])
    for kill in range(KILLS):
        # Somewhere in the middle of the work, not at its end.
        left = JOBS - (kill + 1) * JOBS // (2 * KILLS)
        wait_until(lambda left=left: number(admin, NOT_ENDED) <= left, timeout_s=END_TIMEOUT_S)  # type: ignore[misc]
        processes.kill(living.pop(chance.randrange(len(living))))
        living.append(processes.start())
    wait_until(lambda: number(admin, NOT_ENDED) == 0, timeout_s=END_TIMEOUT_S, what="all jobs to end")

    assert number(admin, "SELECT count(*) FROM queue.finished_jobs WHERE state = 'done'") == JOBS
    assert number(admin, "SELECT count(*) FROM probe.overlaps") == 0
    # Each run is an attempt that was recorded; a claim may have been lost before its handler ran.
    recorded = number(admin, "SELECT count(*) FROM queue.all_attempts")
    assert JOBS <= number(admin, "SELECT count(*) FROM probe.runs") <= recorded
    crashed = number(admin, "SELECT count(*) FROM queue.attempts WHERE outcome = 'crashed'")
    assert recorded == JOBS + crashed
    assert crashed > 0, "no worker was killed while it had a job"


async def test_a_job_whose_worker_was_killed_starts_again_soon_on_another(
    memory: AsyncMemory, processes: Processes, admin: AppConnection
) -> None:
    job = await memory.jobs.enqueue("hang")
    first = processes.start()
    wait_until(lambda: number(admin, "SELECT count(*) FROM queue.jobs WHERE state = 'running'") == 1)
    processes.start()
    processes.kill(first)
    restarted = "SELECT count(*) FROM queue.jobs WHERE state = 'running' AND attempts = 2"
    wait_until(lambda: number(admin, restarted) == 1, timeout_s=END_TIMEOUT_S)
    assert number(admin, BEATS) <= NOTICED_WITHIN_BEATS
    assert [attempt.outcome for attempt in (await memory.jobs.status(job.job_id)).history] == ["crashed"]


@pytest.mark.skipif(not IS_SLOW, reason="takes a minute: make test-slow")
async def test_a_job_that_kills_its_worker_each_time_is_dead_after_its_attempts(
    memory: AsyncMemory, processes: Processes, admin: AppConnection
) -> None:
    job = await memory.jobs.enqueue("deadly", max_attempts=2)
    for attempt in (1, 2):
        processes.start()
        begun = f"SELECT count(*) FROM queue.jobs WHERE attempts = {attempt} AND state = 'running'"
        wait_until(lambda begun=begun: number(admin, begun) == 1, timeout_s=END_TIMEOUT_S)  # type: ignore[misc]
    processes.start()
    dead = await memory.jobs.wait(job.job_id, timeout_s=60)
    assert (dead.state, [attempt.outcome for attempt in dead.history]) == ("dead", ["crashed", "crashed"])
