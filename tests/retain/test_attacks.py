"""What SQL in the hands of one tenant, or a stolen statement, can do with what stores memories."""

import json
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from mnemic.db.access import Access
from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.db.vectors import table_name_of, with_vectors
from mnemic.sdk.memory import AsyncMemory
from mnemic.sql import query
from tests.conftest import AppConnection, ConnectAs
from tests.opened import opened
from tests.proofs import WRONG_SIGNATURES, process_of, wrong_signature

MODEL = "test:hash-64"
VECTOR = json.dumps([1.0] + [0.0] * 63)


def parameters(tenant: Tenant, signature: str | None, content: str | None = None) -> dict[str, Any]:
    """What stores one memory of a tenant."""
    memory_id = uuid4()
    row = {
        "memory_id": str(memory_id),
        "content": content or f"forged {memory_id}",
        "category": "factual",
        "source": "imported",
        "provenance": "witnessed",
        "confidence": 1.0,
        "anchored": False,
    }
    return {
        **dict.fromkeys(("others", "other_places", "conversation", "first_at", "last_at", "duration_ms")),
        **dict.fromkeys(("logged_conversation", "operation", "memory_count", "detail")),
        "tenant_id": tenant.id,
        "signature": signature,
        "owner": "alice",
        "channel": "here",
        "process": "forged",
        "firsts": json.dumps([row]),
        "places": [None],
        "model": MODEL,
        "ids": [memory_id],
        "vectors": [VECTOR],
        "row_count": 1,
        "dimensions": 64,
        "vector_table": table_name_of(MODEL),
        "turns": 0,
        "is_logged": False,
    }


@pytest.fixture
async def served(database: Database, tenant_a: Tenant, tenant_b: Tenant) -> list[AsyncMemory]:
    """Both tenants have a memory, so that the test model serves them."""
    memories = [opened(database, tenant, embedder="test") for tenant in (tenant_a, tenant_b)]
    for memory in memories:
        await memory.retain("Words that both have.")
    return memories


def count(admin: AppConnection, tenant: Tenant) -> tuple[Any, ...] | None:
    """How many rows a tenant has."""
    return admin.execute(
        "SELECT (SELECT count(*) FROM state.memories WHERE tenant_id = %(id)s),"
        " (SELECT count(*) FROM state.near_duplicates WHERE tenant_id = %(id)s),"
        " (SELECT count(*) FROM traces.memory_log WHERE tenant_id = %(id)s)",
        {"id": tenant.id},
    ).fetchone()


def test_the_right_signature_stores(
    access: Access, admin: AppConnection, tenant_b: Tenant, served: list[AsyncMemory]
) -> None:
    with psycopg.connect(access.conninfo(), autocommit=True) as connection:
        signed = access.key.signature("enter", str(tenant_b.id), process=process_of(connection))
        assert connection.execute(query("retain.alone"), parameters(tenant_b, signed)).fetchone() == (
            "stored",
        )
    assert count(admin, tenant_b) == (2, 0, 1)


@pytest.mark.parametrize("whose", WRONG_SIGNATURES)
@pytest.mark.parametrize("in_transaction", [False, True])
def test_nothing_is_stored_for_a_tenant_without_its_own_signature_for_this_very_process(
    access: Access,
    connect_as: ConnectAs,
    admin: AppConnection,
    tenant_a: Tenant,
    tenant_b: Tenant,
    served: list[AsyncMemory],
    whose: str,
    in_transaction: bool,
) -> None:
    before = count(admin, tenant_b)
    connection = connect_as(tenant_a)
    if not in_transaction:
        connection.execute("ROLLBACK")
    signed = wrong_signature(whose, access, connection, mine=tenant_a, theirs=tenant_b)
    try:
        row = connection.execute(query("retain.alone"), parameters(tenant_b, signed)).fetchone()
        assert row == ("more",)
    except psycopg.errors.InsufficientPrivilege:
        pass
    connection.close()
    assert count(admin, tenant_b) == before


async def test_nothing_of_a_tenant_stays_on_the_connection_of_a_small_call(
    served: list[AsyncMemory],
) -> None:
    memory = served[0]
    await memory.retain("Words of one statement.")
    async with memory._core.storage.database._pool.connection() as connection:
        left = await (await connection.execute("SELECT mnemic.current_tenant() AS tenant")).fetchone()
    assert left == {"tenant": None}


@pytest.mark.parametrize(
    "table",
    [
        "tenant_models",
        "owner_statistics",
        "nothing",
        'x"; DELETE FROM state.memories; --',
        "../state.memories",
    ],
)
def test_a_forged_name_of_a_table_leads_nowhere(
    connect_as: ConnectAs, admin: AppConnection, tenant_a: Tenant, served: list[AsyncMemory], table: str
) -> None:
    before = count(admin, tenant_a)
    statement = "SELECT mnemic.insert_vectors(%s, 'alice', %s, ARRAY[%s], ARRAY[%s::halfvec])"
    with pytest.raises(psycopg.Error) as refused:
        connect_as(tenant_a).execute(statement, [tenant_a.id, table, uuid4(), VECTOR])
    assert isinstance(refused.value, psycopg.errors.UndefinedTable | psycopg.errors.UndefinedColumn), (
        refused.value
    )
    assert count(admin, tenant_a) == before


def test_a_model_that_does_not_serve_is_not_written_to(
    connect_as: ConnectAs, tenant_a: Tenant, served: list[AsyncMemory]
) -> None:
    connection = connect_as(tenant_a)
    connection.execute("SELECT mnemic.open_vector_table('test:forged', 64)")
    given = {**parameters(tenant_a, None), "model": "test:forged"}
    assert connection.execute(query("retain.alone"), given).fetchone() == ("more",)
    stored = connection.execute(query("retain.store"), given).fetchone()
    assert stored == (None, False)


def test_vectors_go_only_into_the_table_that_serves_and_only_with_what_is_stored(
    connect_as: ConnectAs, tenant_a: Tenant, served: list[AsyncMemory]
) -> None:
    connection = connect_as(tenant_a)
    connection.execute("SELECT mnemic.open_vector_table('test:forged', 64)")
    for model, outcome, count in (("test:forged", "more", 0), (MODEL, "stored", 2), (MODEL, "known", 2)):
        table_name = table_name_of(model)
        statement = with_vectors(query("retain.alone"), table_name)
        given = {**parameters(tenant_a, None, "the same words"), "vector_table": table_name}
        assert connection.execute(statement, given).fetchone() == (outcome,)
        counting = sql.SQL("SELECT count(*) FROM vectors.{}").format(sql.Identifier(table_name))
        assert connection.execute(counting).fetchone() == (count,)


async def test_what_another_tenant_has_is_not_compared_with(
    served: list[AsyncMemory], admin: AppConnection, tenant_a: Tenant
) -> None:
    mine, theirs = served
    await theirs.retain("Bob plays chess on Sundays.")
    await mine.retain("Bob plays chess on Sundays!")
    assert await mine.memories.near_duplicates() == []
