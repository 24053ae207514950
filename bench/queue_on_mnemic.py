"""Mnemic's queue, for bench/queue_speed.py."""

import asyncio
from collections.abc import Callable

from bench.queue_program import Program, run
from mnemic import AsyncMemory
from mnemic.config import Settings
from mnemic.jobs.handlers import RunningJob
from mnemic.jobs.worker import Worker


class OnMnemic(Program):
    """One worker for all tenants; attempts are recorded, as always."""

    async def open(self) -> None:
        settings = Settings(data_dir=self.options["data_dir"], worker=False)
        self.memory = await AsyncMemory(settings=settings, embedder="test", owner="bench").open()

    async def setup(self) -> None:
        """Opening the memory has migrated the database."""

    async def enqueue(self, kind: str, number: int) -> None:
        await self.memory.jobs.enqueue(kind, {"number": number})

    async def enqueue_bulk(self, count: int) -> None:
        await self.memory.jobs.enqueue_many("noop", [{"number": number} for number in range(count)])

    async def work(self, batch: int, on_timed: Callable[[int], None]) -> None:
        async def noop(job: RunningJob) -> None:
            pass

        async def timed(job: RunningJob) -> None:
            on_timed(job.payload["number"])

        database = self.memory._core.storage.database
        worker = Worker(database, {"noop": noop, "timed": timed}, concurrency=batch)
        task = asyncio.create_task(worker.run())
        try:
            await asyncio.shield(task)
        finally:
            worker.stop(grace_s=1)
            await task
            await self.memory.aclose()


if __name__ == "__main__":
    run(OnMnemic)
