"""Processes that retain without end until they kill themselves.

One program is started, which reads a list of orders from standard input and makes a child for each of
them, so that the costly imports happen once. The orders of a child name a database (`conninfo`, `key`,
`tenant`) or a data folder (`data_dir`), the number of its first call, after how many seconds of work to die,
whether to kill the server, too (`kill_server`), and the file (`log`) in which it says ``begin <number>`` and
``done <number>`` around each call. The program prints how each child ended, as `os.waitpid` has it.
"""

import asyncio
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from mnemic.db.access import Access
from mnemic.db.connection import Limits
from mnemic.db.database import Database
from mnemic.db.embedded import status
from mnemic.db.tenancy import SigningKey
from mnemic.sdk.memory import AsyncMemory
from tests.opened import opened

ITEMS = 600
TURNS = 100


def items(call: int) -> Iterator[dict[str, Any]]:
    """Turns of one conversation, a long text and facts, in more than one batch."""
    for number in range(ITEMS):
        text = f"call {call} item {number}"
        if number < TURNS:
            yield {"content": text, "conversation": "c", "external_id": text}
        else:
            yield {"content": f"{text} {'and so on. ' * 1000}" if number == TURNS else text}


def live_and_die(orders: dict[str, Any]) -> int:
    """Make a child that does it; returns its process id."""
    child = os.fork()
    if child == 0:
        with open(orders["log"], "w") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        try:
            asyncio.run(retain_and_die(orders))
        finally:
            traceback.print_exc()
            os._exit(1)
    return child


async def retain_and_die(orders: dict[str, Any]) -> None:
    async with open_memory(orders) as memory:
        (memory_id,) = (await memory.retain({"content": "changing", "external_id": "changing"})).memory_ids
        for call in count(orders["first_call"]):
            print(f"begin {call}", flush=True)
            if call == orders["first_call"]:
                threading.Timer(orders["die_after_s"], die, [orders]).start()
            await memory.retain_many(items(call))
            print(f"done {call}", flush=True)
            await memory.memories.update(memory_id, content=f"changed after call {call}")


def die(orders: dict[str, Any]) -> None:
    if orders.get("kill_server"):
        postmaster = status(Path(orders["data_dir"])).pid
        assert postmaster is not None
        os.kill(postmaster, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


@asynccontextmanager
async def open_memory(orders: dict[str, Any]) -> AsyncIterator[AsyncMemory]:
    if "data_dir" in orders:
        async with AsyncMemory(data_dir=orders["data_dir"], owner="alice", embedder="test") as memory:
            yield memory
        return
    access = Access(lambda: orders["conninfo"], SigningKey.from_hex(orders["key"]), "", "")
    database = Database(access, Limits())
    await database.open()
    yield opened(database, await database.open_tenant(orders["tenant"]), embedder="test")


if __name__ == "__main__":
    children = [live_and_die(orders) for orders in json.load(sys.stdin)]
    print(json.dumps([os.waitpid(child, 0)[1] for child in children]))
