"""Attacks on the write path with the SQL of one tenant or with a stolen statement."""

import json
from itertools import product
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
from tests.opened import core_of, opened
from tests.proofs import WRONG_SIGNATURES, backend_identity, wrong_signature

MODEL = "test:hash-64"
VECTOR = json.dumps([1.0] + [0.0] * 63)
NOTHING_STORED = (None, None, None, None)


def parameters(tenant: Tenant, signature: str | None, content: str | None = None) -> dict[str, Any]:
    """Parameters that store one memory of a tenant."""
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
        **dict.fromkeys(("others", "other_positions", "conversation", "first_at", "last_at", "duration_ms")),
        **dict.fromkeys(("logged_conversation", "operation", "memory_count", "detail")),
        "tenant_id": tenant.id,
        "signature": signature,
        "owner": "alice",
        "channel": "here",
        "process": "forged",
        "firsts": json.dumps([row]),
        "positions": [None],
        "model": MODEL,
        "ids": [memory_id],
        "vectors": [VECTOR],
        "row_count": 1,
        "dimensions": 64,
        "vector_table": table_name_of(MODEL),
        "turns": 0,
        "is_logged": False,
        "is_changing_model": False,
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
        signed = access.key.signature("authenticate", str(tenant_b.id), process=backend_identity(connection))
        given = parameters(tenant_b, signed)
        row = connection.execute(query("retain.one_statement"), given).fetchone()
        assert row == (given["ids"], None, None, None)
    assert count(admin, tenant_b) == (2, 0, 1)


def test_nothing_is_stored_without_the_tenants_signature_for_this_process(
    access: Access,
    connect_as: ConnectAs,
    admin: AppConnection,
    tenant_a: Tenant,
    tenant_b: Tenant,
    served: list[AsyncMemory],
    subtests: pytest.Subtests,
) -> None:
    before = count(admin, tenant_b)
    for in_transaction, whose in product((False, True), WRONG_SIGNATURES):
        with subtests.test(whose, in_transaction=in_transaction):
            connection = connect_as(tenant_a)
            if not in_transaction:
                connection.execute("ROLLBACK")
            signed = wrong_signature(whose, access, connection, mine=tenant_a, theirs=tenant_b)
            given = parameters(tenant_b, signed)
            try:
                row = connection.execute(query("retain.one_statement"), given).fetchone()
                assert row == NOTHING_STORED
            except psycopg.errors.InsufficientPrivilege:
                pass
            connection.close()
            assert count(admin, tenant_b) == before


async def test_one_statement_leaves_no_tenant_on_its_connection(
    served: list[AsyncMemory],
) -> None:
    memory = served[0]
    await memory.retain("Words of one statement.")
    async with core_of(memory).storage.database._pool.connection() as connection:
        left = await (await connection.execute("SELECT mnemic.current_tenant() AS tenant")).fetchone()
    assert left == {"tenant": None}


def test_a_model_that_does_not_serve_is_not_written_to(
    connect_as: ConnectAs, tenant_a: Tenant, served: list[AsyncMemory]
) -> None:
    connection = connect_as(tenant_a)
    connection.execute("SELECT mnemic.open_vector_table('test:forged', 64)")
    given = {**parameters(tenant_a, None), "model": "test:forged"}
    assert connection.execute(query("retain.one_statement"), given).fetchone() == NOTHING_STORED


def test_vectors_go_only_into_the_serving_table_and_only_with_new_memories(
    connect_as: ConnectAs, tenant_a: Tenant, served: list[AsyncMemory]
) -> None:
    connection = connect_as(tenant_a)
    connection.execute("SELECT mnemic.open_vector_table('test:forged', 64)")
    first = parameters(tenant_a, None, "the same words")
    second = parameters(tenant_a, None, "the same words")
    for model, given, row, count in (
        ("test:forged", first, NOTHING_STORED, 0),
        (MODEL, first, (first["ids"], None, None, None), 2),
        (MODEL, second, (None, second["ids"], first["ids"], [None]), 2),
    ):
        table_name = table_name_of(model)
        statement = with_vectors(query("retain.one_statement"), table_name)
        assert connection.execute(statement, {**given, "vector_table": table_name}).fetchone() == row
        counting = sql.SQL("SELECT count(*) FROM vectors.{}").format(sql.Identifier(table_name))
        assert connection.execute(counting).fetchone() == (count,)


def test_another_tenants_vector_cannot_be_inserted(
    connect_as: ConnectAs, tenant_a: Tenant, tenant_b: Tenant, served: list[AsyncMemory]
) -> None:
    given = {**parameters(tenant_b, None), "memory_ids": [uuid4()]}
    storing = "SELECT %(memory_ids)s::uuid[] AS memory_ids"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connect_as(tenant_a).execute(
            with_vectors(storing, table_name_of(MODEL)), {**given, "ids": given["memory_ids"]}
        )


async def test_near_duplicates_never_cross_tenants(
    served: list[AsyncMemory], admin: AppConnection, tenant_a: Tenant
) -> None:
    mine, theirs = served
    await theirs.retain("Bob plays chess on Sundays.")
    await mine.retain("Bob plays chess on Sundays!")
    assert await mine.memories.near_duplicates() == []
