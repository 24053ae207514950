"""A process that stores memories and is then killed.

It reads its orders from standard input as JSON: `conninfo` and `key` of the database, and `tenant`. It stores
`WRITTEN` memories, whose counts it writes soon, and says ``written``. After another line of input it stores
`UNWRITTEN` more, whose counts it would write much later, and says ``unwritten``.
"""

import asyncio
import json
import sys
from typing import Any

from mnemic.db.access import Access
from mnemic.db.connection import Limits
from mnemic.db.database import Database
from mnemic.db.tenancy import SigningKey
from tests.opened import core_of, opened

WRITTEN, UNWRITTEN = 3, 2
SOON_S, LATER_S = 0.05, 3600.0


async def store(orders: dict[str, Any]) -> None:
    access = Access(lambda: orders["conninfo"], SigningKey.from_hex(orders["key"]), "", "")
    database = Database(access, Limits())
    await database.open()
    memory = opened(database, await database.open_tenant(orders["tenant"]), embedder="test")
    metrics = core_of(memory).hourly_metrics
    for said, count, after_s in (("written", WRITTEN, SOON_S), ("unwritten", UNWRITTEN, LATER_S)):
        metrics.write_after_s = after_s
        for number in range(count):
            await memory.retain(f"{said} {number}")
        print(said, flush=True)
        await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    asyncio.run(store(json.loads(sys.stdin.readline())))
