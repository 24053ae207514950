"""The worker inside the process of a memory: starts by itself, and stops with it."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.config import Settings
from mnemic.errors import InvalidInputError
from mnemic.jobs.handlers import RunningJob
from mnemic.sdk.memory import AsyncMemory
from tests.jobs.watching import WAIT_S
from tests.opened import core_of
from tests.running_folder import running

ROOT = Path(__file__).resolve().parents[2]
FORGETFUL = """
import asyncio, sys
from mnemic import AsyncMemory

async def main():
    memory = await AsyncMemory(data_dir=sys.argv[1], embedder="test").open()
    begun = asyncio.Event()

    @memory.jobs.handler("hang")
    async def hang(job):
        begun.set()
        await asyncio.Event().wait()

    @memory.jobs.handler("sleep")
    def sleep(job):
        import time
        time.sleep(600)

    await memory.jobs.enqueue("sleep")
    await memory.jobs.enqueue("hang")
    await begun.wait()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def data_dir(memory_dir: Path) -> Iterator[Path]:
    """The folder of an embedded server that the tests of this module share."""
    yield from running(memory_dir / "own worker")


async def test_a_job_is_done_by_the_process_that_added_it(data_dir: Path) -> None:
    async with AsyncMemory(data_dir=data_dir, embedder="test") as memory:

        @memory.jobs.handler("greet")
        async def greet(job: RunningJob) -> str:
            return f"hello {job.payload['name']}"

        @memory.jobs.handler("plain")
        def plain(job: RunningJob) -> str:
            job.report(done=1)  # type: ignore[unused-awaitable]
            return threading.current_thread().name

        job = await memory.jobs.enqueue("greet", {"name": "bob"})
        assert (await memory.jobs.wait(job.job_id, timeout_s=WAIT_S)).result == "hello bob"
        job = await memory.jobs.enqueue("plain")
        done = await memory.jobs.wait(job.job_id, timeout_s=WAIT_S)
        assert done.result == f"job {job.job_id}"
        assert done.progress is not None


async def test_jobs_left_behind_run_when_the_memory_is_opened_again(data_dir: Path) -> None:
    begun = asyncio.Event()
    async with AsyncMemory(data_dir=data_dir, embedder="test") as memory:

        @memory.jobs.handler("slow")
        async def slow(job: RunningJob) -> None:
            begun.set()
            await asyncio.Event().wait()

        job = await memory.jobs.enqueue("slow")
        await begun.wait()
    # Closed, although the handler would not have ended.
    async with AsyncMemory(data_dir=data_dir, embedder="test") as memory:

        @memory.jobs.handler("slow")
        async def fast(job: RunningJob) -> str:
            return "done now"

        done = await memory.jobs.wait(job.job_id, timeout_s=WAIT_S)
    assert (done.result, done.attempts) == ("done now", 1)
    assert [attempt.outcome for attempt in done.history] == ["handed_back", "done"]


async def test_without_the_setting_jobs_run_only_during_work(data_dir: Path) -> None:
    settings = Settings(data_dir=data_dir, worker=False)
    async with AsyncMemory(settings=settings, embedder="test") as memory:

        @memory.jobs.handler("greet")
        async def greet(job: RunningJob) -> str:
            return "hello"

        job = await memory.jobs.enqueue("greet")
        assert not core_of(memory).in_process_worker.is_watching
        work = asyncio.create_task(memory.jobs.work(concurrency=2))
        done = await memory.jobs.wait(job.job_id)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert done.result == "hello"
        with pytest.raises(InvalidInputError, match="concurrency must be"):
            await memory.jobs.work(concurrency=0)


async def test_a_type_has_one_handler(data_dir: Path) -> None:
    async with AsyncMemory(data_dir=data_dir, embedder="test") as memory:

        @memory.jobs.handler("greet")
        async def greet(job: RunningJob) -> None:
            pass

        with pytest.raises(InvalidInputError, match="a type has one handler"):
            memory.jobs.handler("greet")(greet)
        with pytest.raises(InvalidInputError, match="type must be"):
            memory.jobs.handler("No Type")(greet)
        with pytest.raises(InvalidInputError, match="must be a function"):
            memory.jobs.handler("other")("no function")  # type: ignore[type-var]


def test_neither_the_worker_nor_a_handler_in_a_thread_keeps_the_program_alive(data_dir: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", FORGETFUL, str(data_dir)],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        timeout=5 * WAIT_S,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
