"""Callbacks that try to end the program: the exception arrives where it belongs, and the next call works."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mnemic.jobs.handlers import RunningJob
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.event import Event
from tests.fresh_tenants import OpenMemory


class Alarm(BaseException):
    """An exception that no library expects."""


@asynccontextmanager
async def working(memory: AsyncMemory) -> AsyncIterator[None]:
    """A worker for the jobs of the memory."""
    work = asyncio.create_task(memory.jobs.work())
    try:
        yield
        assert not work.done(), "the worker goes on"
    finally:
        work.cancel()
        await asyncio.wait({work})


async def test_a_handler_that_exits_fails_its_job_and_the_worker_goes_on(
    open_memory: OpenMemory, subtests: pytest.Subtests
) -> None:
    memory = await open_memory()
    # A KeyboardInterrupt in the main thread is taken for Ctrl-C.
    in_the_loop = [SystemExit(3), GeneratorExit(), Alarm()]
    in_a_thread = [*in_the_loop, KeyboardInterrupt(), StopIteration(4)]

    @memory.jobs.handler("exits.async")
    async def leave(job: RunningJob) -> None:
        raise in_the_loop[job.payload["number"]]

    @memory.jobs.handler("exits.plain")
    def leave_plainly(job: RunningJob) -> None:
        raise in_a_thread[job.payload["number"]]

    @memory.jobs.handler("works")
    async def work(job: RunningJob) -> str:
        return "done"

    async with working(memory):
        for type_name, errors in (("exits.async", in_the_loop), ("exits.plain", in_a_thread)):
            for number, error in enumerate(errors):
                with subtests.test(f"{type_name} {type(error).__name__}"):
                    job = await memory.jobs.enqueue(type_name, {"number": number}, max_attempts=1)
                    ended = await memory.jobs.wait(job.job_id)
                    assert ended.state == "dead"
        job = await memory.jobs.enqueue("works")
        assert (await memory.jobs.wait(job.job_id)).result == "done"


async def test_a_consumer_that_exits_ends_its_call_and_gets_the_event_again(
    open_memory: OpenMemory, subtests: pytest.Subtests
) -> None:
    memory = await open_memory()
    await memory.retain("Alice lives in Berlin.")
    seen: list[int] = []
    for error in (SystemExit(3), GeneratorExit(), Alarm()):

        async def leave(event: Event, error: BaseException = error) -> None:
            seen.append(event.position)
            raise error

        with subtests.test(type(error).__name__), pytest.raises(type(error)):
            await memory.events.on(leave, consumer="reader", start="beginning")
    assert len(seen) == 3
    assert len(set(seen)) == 1
    assert len(await memory.memories.list()) == 1
