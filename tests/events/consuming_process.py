"""Consumers that are killed and started again, each in a process of its own.

The program reads its orders from standard input: a database (`conninfo`, `key`, `tenant`), the names of the
`consumers`, how often each is killed (`kills`) and the longest life before that (`life_s`). A consumer writes
down each event that it gets, in the transaction that moves its place. After its last kill it ends when the
file `target` is there and the position that the file names is reached; then the program ends, too.
"""

import asyncio
import json
import os
import random
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mnemic.db.access import Access
from mnemic.db.connection import Limits
from mnemic.db.database import Database, TenantDatabase, Transaction
from mnemic.db.tenancy import SigningKey
from mnemic.events.consumers import consume, take_consumer
from mnemic.events.log import EventFilter
from mnemic.types.event import Event

PAUSE_S = 0.01

MAKE_SEEN = """
    CREATE TABLE state.seen (
        tenant_id uuid NOT NULL, number bigint GENERATED ALWAYS AS IDENTITY,
        consumer text NOT NULL, at_position bigint NOT NULL, subject text NOT NULL, data jsonb NOT NULL,
        PRIMARY KEY (tenant_id, number)
    );
    CALL mnemic.protect('state.seen');
"""
SEE = """
    INSERT INTO state.seen (tenant_id, consumer, at_position, subject, data)
    VALUES (%s, %s, %s, %s, %s::jsonb)
"""


def start(orders: dict[str, Any], consumer: str, *, kills_left: int) -> int:
    """Make a child that consumes until it is killed, or the last one; returns its process id."""
    life_s = random.uniform(0, orders["life_s"]) if kills_left else None
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(consume_events(orders, consumer, life_s))
            os._exit(0)
        finally:
            os._exit(1)
    return child


async def consume_events(orders: dict[str, Any], consumer: str, life_s: float | None) -> None:
    access = Access(lambda: orders["conninfo"], SigningKey.from_hex(orders["key"]), "", "")
    database = Database(access, Limits())
    await database.open()
    tenant = TenantDatabase(database, await database.open_tenant(orders["tenant"]))
    if life_s is not None:
        threading.Timer(life_s, os.kill, [os.getpid(), signal.SIGKILL]).start()

    async def see(transaction: Transaction, events: Sequence[Event]) -> None:
        for event in events:
            values = (tenant.tenant.id, consumer, event.position, event.subject, json.dumps(dict(event.data)))
            await transaction.connection.execute(SEE, values)

    reading = await take_consumer(tenant, consumer, EventFilter(), start="beginning")
    after = reading.position
    while life_s is not None or not is_done(orders, after):
        page = await consume(tenant, reading, EventFilter(), see, after=after, limit=10)
        after = page.through
        if not page.has_more:
            await asyncio.sleep(PAUSE_S)


def is_done(orders: dict[str, Any], position: int) -> bool:
    target = Path(orders["target"])
    return target.exists() and position >= int(target.read_text())


if __name__ == "__main__":
    orders = json.load(sys.stdin)
    kills_left = dict.fromkeys(orders["consumers"], orders["kills"])
    children = {start(orders, name, kills_left=kills_left[name]): name for name in orders["consumers"]}
    killed = 0
    while children:
        child, status = os.wait()
        name = children.pop(child)
        if os.WIFSIGNALED(status):
            killed += 1
            kills_left[name] -= 1
            children[start(orders, name, kills_left=kills_left[name])] = name
        elif status != 0:
            sys.exit(f"the consumer {name} failed")
    print(json.dumps({"killed": killed}))
