"""The common part of the programs that bench/queue_speed.py starts; standard library only.

A program runs one task. It reads `task` and its arguments as one line of JSON from standard input, prints
``ready`` when it is set up, waits for ``go``, runs the task, and prints the seconds that it took as one line
of JSON. The tasks: `setup` creates the tables; `enqueue_one` adds `count` jobs one by one, `enqueue_bulk` in
calls of 1,000; `work` runs no-op jobs, `batch` at a time, until its standard input is closed; `work_timed`
prints for each job when it started; `enqueue_timed` adds jobs with pauses and prints for each when it was
added.
"""

import asyncio
import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

BULK_CALL = 1_000
PAUSE_S = 0.03


class Program(ABC):
    """One queue. `options` are the task and its arguments."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    @abstractmethod
    async def open(self) -> None: ...

    @abstractmethod
    async def setup(self) -> None: ...

    @abstractmethod
    async def enqueue(self, kind: str, number: int) -> None: ...

    @abstractmethod
    async def enqueue_bulk(self, count: int) -> None: ...

    @abstractmethod
    async def work(self, batch: int, on_timed: Callable[[int], None]) -> None:
        """Work until cancelled."""


def run(program_class: type[Program]) -> None:
    """Read the task from standard input and run it."""
    asyncio.run(_run(program_class(json.loads(sys.stdin.readline()))))


async def _run(program: Program) -> None:
    await program.open()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    began_s = time.perf_counter()
    await _do(program, program.options["task"])
    print(json.dumps({"seconds": time.perf_counter() - began_s}), flush=True)


async def _do(program: Program, task: str) -> None:
    count = program.options.get("count", 0)
    if task == "setup":
        await program.setup()
    elif task == "enqueue_one":
        for number in range(count):
            await program.enqueue("noop", number)
    elif task == "enqueue_bulk":
        for _ in range(count // BULK_CALL):
            await program.enqueue_bulk(BULK_CALL)
    elif task == "enqueue_timed":
        for number in range(count):
            print(f"{number} {time.monotonic()}", flush=True)
            await program.enqueue("timed", number)
            await asyncio.sleep(PAUSE_S)
    else:
        await _work(program)


async def _work(program: Program) -> None:
    def print_time(number: int) -> None:
        print(f"{number} {time.monotonic()}", flush=True)

    work = asyncio.create_task(program.work(program.options["batch"], print_time))
    await asyncio.to_thread(sys.stdin.readline)
    work.cancel()
    await asyncio.wait({work})
