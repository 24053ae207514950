"""The connection pool: its workers can be cancelled."""

import asyncio
import socket
from typing import Final

from mnemic.db.pool import LifoPool

WAIT_S: Final = 30
# Iterations of the event loop until the pool has started and all but one of its tasks wait.
TURNS: Final = 10


async def test_a_connecting_worker_ends_when_it_is_cancelled() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.setblocking(False)
        address = f"host=127.0.0.1 port={silent.getsockname()[1]} sslmode=disable"
        before = asyncio.all_tasks()
        pool = LifoPool(address, min_size=1, max_size=1, open=False)
        await pool.open()
        workers = asyncio.all_tasks() - before
        accepting = asyncio.get_running_loop().sock_accept(silent)
        line, _ = await asyncio.wait_for(accepting, WAIT_S)
        with line:
            for _ in range(TURNS):
                await asyncio.sleep(0)
            for task in workers:
                task.cancel()
            ended, going_on = await asyncio.wait(workers, timeout=WAIT_S)
            assert (ended, going_on) == (workers, set())
