"""A process that calls a language model as often as the spend cap allows. It reads its orders from stdin.

Prints what its calls cost, in microdollars, one line per call before the call is settled. With `dies` it is
killed in the middle of its calls.
"""

import asyncio
import json
import os
import signal
import sys
from uuid import UUID

from mnemic.db.access import Access
from mnemic.db.connection import Limits
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import SigningKey, Tenant
from mnemic.errors import SpendCapError
from mnemic.models.spending import PlannedCall, UsedTokens
from mnemic.runtime.call_metrics import ModelCallCounts
from mnemic.runtime.spend_ledger import DatabaseSpendLedger

CALLS = 40
WORST = 100


async def spend(orders: dict[str, str]) -> None:
    """Make CALLS calls at once; each costs less than its worst case."""
    access = Access(lambda: orders["conninfo"], SigningKey.from_hex(orders["key"]), "", "")
    database = Database(access, Limits(pool_size=8))
    await database.open()
    place = TenantDatabase(database, Tenant(UUID(orders["tenant_id"]), "tenant a"))
    ledger = DatabaseSpendLedger(lambda: place, ModelCallCounts())

    async def call(number: int) -> None:
        try:
            reserved = await ledger.reserve(PlannedCall("other", "m", 1, 1, WORST))
        except SpendCapError:
            return
        if orders.get("dies") and number > CALLS // 4:
            os.kill(os.getpid(), signal.SIGKILL)
        cost = WORST - number
        print(cost, flush=True)
        await ledger.settle(reserved, UsedTokens(1, 1, cost))

    async with asyncio.TaskGroup() as group:
        for number in range(CALLS):
            group.create_task(call(number))
    await database.aclose()


if __name__ == "__main__":
    asyncio.run(spend(json.load(sys.stdin)))
