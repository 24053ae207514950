"""Processes that consolidate until they kill themselves.

One program reads a list of orders from standard input and makes a child for each, one after the other. An
order names a database (`conninfo`, `key`, `tenant`) and after how many seconds of work to die. The program
prints how each child ended, as `os.waitpid` has it.
"""

import asyncio
import json
import os
import signal
import sys
import threading
import traceback
from typing import Any

from mnemic.db.access import Access
from mnemic.db.connection import Limits
from mnemic.db.database import Database
from mnemic.db.tenancy import SigningKey
from tests.opened import opened


def live_and_die(order: dict[str, Any]) -> int:
    """Make a child that does it; returns how it ended."""
    child = os.fork()
    if child == 0:
        os.dup2(2, 1)
        try:
            asyncio.run(consolidate_and_die(order))
        finally:
            traceback.print_exc()
            os._exit(1)
    return os.waitpid(child, 0)[1]


async def consolidate_and_die(order: dict[str, Any]) -> None:
    access = Access(lambda: order["conninfo"], SigningKey.from_hex(order["key"]), "", "")
    database = Database(access, Limits())
    await database.open()
    memory = opened(database, await database.open_tenant(order["tenant"]), embedder="test")
    threading.Timer(order["die_after_s"], os.kill, [os.getpid(), signal.SIGKILL]).start()
    while True:
        await memory.consolidate()


if __name__ == "__main__":
    print(json.dumps([live_and_die(order) for order in json.load(sys.stdin)]))
