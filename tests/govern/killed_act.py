"""A process that is killed in the middle of an audited act. It reads its orders from standard input."""

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
from mnemic.govern.audit import audited
from mnemic.types.scope import Scope


async def act_and_die(orders: dict[str, str]) -> None:
    """Delete a document, say that it succeeded, and die before either is committed."""
    access = Access(lambda: orders["conninfo"], SigningKey.from_hex(orders["key"]), "", "")
    database = Database(access, Limits())
    await database.open()
    place = TenantDatabase(database, Tenant(UUID(orders["tenant_id"]), "tenant a"))
    scope = Scope(owner="alice", channel="_global", process="doomed")
    async with (
        audited(place, scope, action="delete_document", target="plan") as act,
        place.transaction() as transaction,
    ):
        parameters = {"owner": "alice", "key": "plan", "expected_version": None}
        act.outcome(documents=await transaction.execute("state_documents.delete", parameters))
        await act.commit_with(transaction)
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(act_and_die(json.load(sys.stdin)))
