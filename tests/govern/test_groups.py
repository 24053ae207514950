"""`memory.audit` and `memory.log`: what the SDK shows of the traces."""

import pytest

from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.errors import OwnerRequiredError
from mnemic.govern.audit import audited
from mnemic.govern.memory_log import log_write
from mnemic.types.traces import LogEntry
from tests.govern.conftest import ALICE, BOB
from tests.opened import opened


async def test_a_memory_with_an_owner_audits_that_owner_and_one_without_the_tenant(
    database: Database, tenant_a: Tenant, place_a: TenantDatabase
) -> None:
    alice, everybody = opened(database, tenant_a), opened(database, tenant_a, owner=None)
    async with audited(place_a, ALICE, action="erase", target="one"):
        assert [record.target for record in await alice.audit.unfinished()] == ["one"]
        assert await everybody.audit.unfinished(owner="bob") == []
    async with audited(place_a, BOB, action="restore", target="two"):
        pass
    assert {record.target for record in await alice.audit.list()} == {"one"}
    assert {record.target for record in await everybody.audit.list()} == {"one", "two"}
    assert {record.target for record in await everybody.audit.list(action="restore")} == {"two"}
    newest, *rest = await everybody.audit.list()
    assert await everybody.audit.list(before=newest.audit_id, limit=3) == rest


async def test_the_log_is_read_for_one_owner(
    database: Database, tenant_a: Tenant, place_a: TenantDatabase
) -> None:
    async with place_a.transaction() as transaction:
        for owner in ("alice", "bob"):
            await log_write(transaction, "writes", LogEntry("retain", owner, "_global", "tests", 1))
    memory = opened(database, tenant_a)
    assert [call.owner for call in await memory.log.list()] == ["alice"]
    assert [call.owner for call in await memory.log.list(owner="bob", operation="retain")] == ["bob"]
    assert await memory.log.list(operation="recall") == []
    with pytest.raises(OwnerRequiredError):
        await opened(database, tenant_a, owner=None).log.list()
