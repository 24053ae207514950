"""procrastinate, for bench/queue_speed.py. Runs in its own environment."""

import logging
from collections.abc import Callable

from procrastinate import App, PsycopgConnector  # type: ignore[import-not-found]

from bench.queue_program import Program, run


class OnProcrastinate(Program):
    """Its worker, with `batch` jobs at a time; it fetches one by one."""

    async def open(self) -> None:
        server = self.options["server"]
        parts = {**server, "dbname": server["database"]}
        del parts["database"]
        # It warns about apps that are defined in the main module; here that is intended.
        logging.getLogger("procrastinate").setLevel(logging.ERROR)
        self.app = App(connector=PsycopgConnector(kwargs=parts))
        self.on_timed: Callable[[int], None] = lambda number: None

        @self.app.task(name="noop")  # type: ignore[untyped-decorator]
        async def noop(number: int) -> None:
            pass

        @self.app.task(name="timed")  # type: ignore[untyped-decorator]
        async def timed(number: int) -> None:
            self.on_timed(number)

        self.tasks = {"noop": noop, "timed": timed}
        await self.app.open_async()

    async def setup(self) -> None:
        await self.app.schema_manager.apply_schema_async()

    async def enqueue(self, kind: str, number: int) -> None:
        await self.tasks[kind].defer_async(number=number)

    async def enqueue_bulk(self, count: int) -> None:
        await self.tasks["noop"].batch_defer_async(*({"number": number} for number in range(count)))

    async def work(self, batch: int, on_timed: Callable[[int], None]) -> None:
        self.on_timed = on_timed
        await self.app.run_worker_async(concurrency=batch, install_signal_handlers=False)


if __name__ == "__main__":
    run(OnProcrastinate)
