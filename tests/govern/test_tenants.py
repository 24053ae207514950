"""Tenants are listed and deleted by an administrator; deleting one leaves nothing of it, and others whole."""

import pytest
from psycopg import sql

from mnemic.db.access import Access
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.errors import ConfigurationError, ConflictError, InvalidInputError, NotFoundError
from mnemic.govern.tenants import Administrator, delete_tenant, list_tenants
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import LIMITS, AppConnection
from tests.govern.conftest import ALICE
from tests.opened import opened

TABLES = """
SELECT table_schema, table_name FROM information_schema.columns
JOIN information_schema.tables USING (table_schema, table_name)
WHERE column_name = 'tenant_id' AND table_type = 'BASE TABLE'
  AND table_schema IN ('state', 'vectors', 'traces', 'queue')
"""


@pytest.fixture
def own_database() -> bool:
    """Yes: the tests look at a whole database."""
    return True


@pytest.fixture
def administrator(admin_conninfo: str) -> Administrator:
    return Administrator(admin_conninfo, LIMITS)


def rows_of(admin: AppConnection, tenant: Tenant) -> dict[str, int]:
    """How many rows each table has of a tenant, without those that have none."""
    counts = {}
    for schema, table in admin.execute(TABLES).fetchall():
        name = sql.Identifier(str(schema), str(table))
        counting = sql.SQL("SELECT count(*)::text FROM {} WHERE tenant_id = %s").format(name)
        ((count,),) = admin.execute(counting, [tenant.id]).fetchall()
        counts[f"{schema}.{table}"] = int(str(count))
    return {name: count for name, count in counts.items() if count}


async def fill(memory: AsyncMemory) -> None:
    """Something of almost everything that a tenant can hold."""
    (first, second) = (await memory.retain(["Alice likes tea.", "Bob likes coffee."])).memory_ids
    await memory.retain([{"role": "user", "content": "Hello."}], conversation="greeting")
    await memory.memories.supersede(second, "Bob likes water.")
    await memory.memories.relate(first, second, "contradicts")
    alice = await memory.entities.upsert("person", "Alice", facts={"likes": "tea"}, aliases=["Al"])
    bob = await memory.entities.upsert("person", "Bob")
    await memory.entities.relate(alice, bob, "knows")
    await memory.triples.add("Alice", "knows", "Bob")
    await memory.state.set("mood", {"today": "good"})
    await memory.documents.put("notes", "Some notes about tea.")
    await memory.journal.append(acted="made tea")
    await memory.metrics.record("recall", "hits", 1)
    await memory.shares.grant("bob")
    await memory.keys.create(role="read")
    await memory.jobs.enqueue("some.work")
    await memory.webhooks.create("https://example.com/hook")
    await memory.recall("tea")
    await memory.events.list()


async def test_tenants_are_listed_by_name(
    tenant_a: Tenant, tenant_b: Tenant, administrator: Administrator
) -> None:
    listed = await list_tenants(administrator, after="", limit=100)
    assert [each.name for each in listed] == ["default", "tenant a", "tenant b"]
    assert listed[1].tenant_id == tenant_a.id
    page = await list_tenants(administrator, after="default", limit=1)
    assert [each.name for each in page] == ["tenant a"]


@pytest.mark.usefixtures("no_comparisons")
async def test_a_deleted_tenant_leaves_nothing_and_takes_nothing_of_others(
    database: Database, tenant_a: Tenant, tenant_b: Tenant, admin: AppConnection, administrator: Administrator
) -> None:
    await fill(opened(database, tenant_a))
    await fill(opened(database, tenant_b))
    before, others = rows_of(admin, tenant_a), rows_of(admin, tenant_b)
    assert len(before) > 25
    receipt = await delete_tenant(
        TenantDatabase(database, tenant_b), ALICE, "tenant a", administrator=administrator
    )
    assert rows_of(admin, tenant_a) == {}
    # The receipt counts tables, not their partitions; events about deleted rows were written meanwhile.
    assert all(
        receipt.rows[table] == count
        for table, count in before.items()
        if table not in ("state.tenants", "queue.event_inbox") and "log_2" not in table
    )
    audited_rows = {"traces.audit_log": others["traces.audit_log"] + 2}
    assert rows_of(admin, tenant_b) == others | audited_rows
    assert [each.name for each in await list_tenants(administrator, after="", limit=9)] == [
        "default",
        "tenant b",
    ]


async def test_the_audit_log_of_the_tenant_in_use_records_the_deletion(
    database: Database, tenant_a: Tenant, tenant_b: Tenant, administrator: Administrator
) -> None:
    memory = opened(database, tenant_b, owner=None)
    receipt = await delete_tenant(
        TenantDatabase(database, tenant_b), ALICE, "tenant a", administrator=administrator
    )
    outcome, intent = await memory.audit.list(action="delete_tenant")
    assert (intent.phase, intent.target, intent.owner) == ("intent", "tenant a", None)
    assert intent.detail == {"receipt_id": str(receipt.receipt_id)}
    assert (outcome.phase, outcome.detail["rows"]) == ("succeeded", receipt.rows)


async def test_vector_indexes_of_a_deleted_tenant_are_dropped(
    database: Database, tenant_a: Tenant, tenant_b: Tenant, admin: AppConnection, administrator: Administrator
) -> None:
    await opened(database, tenant_a).retain("Alice likes tea.")
    ((table,),) = admin.execute("SELECT table_name FROM mnemic.vector_models").fetchall()
    for name, tenant in (("index_a", tenant_a), ("index_b", tenant_b)):
        admin.execute(
            sql.SQL("CREATE INDEX {} ON {} (memory_id) WHERE tenant_id = {} AND owner = 'alice'").format(
                sql.Identifier(name), sql.Identifier("vectors", str(table)), sql.Literal(tenant.id)
            )
        )
    await delete_tenant(TenantDatabase(database, tenant_b), ALICE, "tenant a", administrator=administrator)
    left = admin.execute("SELECT relname FROM pg_class WHERE relname IN ('index_a', 'index_b')").fetchall()
    assert left == [("index_b",)]


async def test_the_tenant_in_use_and_unknown_ones_are_not_deleted(
    database: Database, tenant_a: Tenant, administrator: Administrator
) -> None:
    place = TenantDatabase(database, tenant_a)
    with pytest.raises(ConflictError, match="'tenant a' is the tenant in use"):
        await delete_tenant(place, ALICE, "tenant a", administrator=administrator)
    with pytest.raises(NotFoundError, match="There is no tenant 'typo'"):
        await delete_tenant(place, ALICE, "typo", administrator=administrator)
    with pytest.raises(InvalidInputError, match="name must have at most 128 characters"):
        await delete_tenant(place, ALICE, "x" * 129, administrator=administrator)
    assert await opened(database, tenant_a, owner=None).audit.list() == []


async def test_the_login_of_the_application_may_neither_list_nor_delete(
    database: Database, access: Access, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    application = Administrator(access.conninfo(), LIMITS)
    with pytest.raises(ConfigurationError, match="needs an administrator"):
        await list_tenants(application, after="", limit=100)
    with pytest.raises(ConfigurationError, match="needs an administrator"):
        await delete_tenant(TenantDatabase(database, tenant_a), ALICE, "tenant b", administrator=application)
    assert await database.open_tenant("tenant b", create=False) == tenant_b


async def test_an_unknown_tenant_is_created_only_if_asked_for(database: Database) -> None:
    with pytest.raises(NotFoundError) as refused:
        await database.open_tenant("a typo", create=False)
    assert str(refused.value) == (
        "There is no tenant 'a typo' here. `mnemic tenants list` shows those that exist; "
        "`mnemic tenants create 'a typo'` makes it."
    )
    made = await database.open_tenant("a typo")
    assert await database.open_tenant("a typo", create=False) == made
