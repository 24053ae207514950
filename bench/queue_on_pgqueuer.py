"""pgqueuer, for bench/queue_speed.py, over asyncpg, its fastest driver. Runs in its own environment."""

from collections.abc import Callable
from datetime import timedelta

import asyncpg  # type: ignore[import-not-found]
from pgqueuer import PgQueuer  # type: ignore[import-not-found]
from pgqueuer.db import AsyncpgDriver  # type: ignore[import-not-found]
from pgqueuer.models import Job  # type: ignore[import-not-found]
from pgqueuer.queries import Queries  # type: ignore[import-not-found]

from bench.queue_program import Program, run


class OnPgqueuer(Program):
    """Its queue manager, with `batch` jobs at a time."""

    async def open(self) -> None:
        self.driver = AsyncpgDriver(await asyncpg.connect(**self.options["server"]))
        self.queries = Queries(self.driver)

    async def setup(self) -> None:
        await self.queries.install()

    async def enqueue(self, kind: str, number: int) -> None:
        await self.queries.enqueue(kind, str(number).encode())

    async def enqueue_bulk(self, count: int) -> None:
        payloads = [str(number).encode() for number in range(count)]
        await self.queries.enqueue(["noop"] * count, payloads, [0] * count)

    async def work(self, batch: int, on_timed: Callable[[int], None]) -> None:
        queuer = PgQueuer(self.driver)

        @queuer.entrypoint("noop")  # type: ignore[untyped-decorator]
        async def noop(job: Job) -> None:
            pass

        @queuer.entrypoint("timed")  # type: ignore[untyped-decorator]
        async def timed(job: Job) -> None:
            on_timed(int(job.payload))

        await queuer.run(dequeue_timeout=timedelta(seconds=30), batch_size=batch)


if __name__ == "__main__":
    run(OnPgqueuer)
