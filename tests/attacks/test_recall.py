"""What one tenant's SQL, or a stolen statement, can read through the queries of recall."""

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, LiteralString

import psycopg
import pytest

from mnemic.db.access import Access
from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.db.vectors import with_cosines
from mnemic.sdk.memory import AsyncMemory
from mnemic.sql import query
from tests.conftest import AppConnection, ConnectAs
from tests.opened import core_of, opened
from tests.proofs import WRONG_SIGNATURES, backend_identity, wrong_signature

MODEL = "test:hash-64"
VECTOR = str([1.0] + [0.0] * 63)
OWNER = "alice"
SIGNED = (
    "recall.terms",
    "recall.words",
    "recall.words_by_rarity",
    "recall.near",
    "recall.nearest_granted",
    "recall.records",
)


@pytest.fixture
async def known(database: Database, tenant_a: Tenant, tenant_b: Tenant) -> list[AsyncMemory]:
    """A memory in each of two tenants, with owners of the same name."""
    memories = [opened(database, tenant, embedder="test", owner=OWNER) for tenant in (tenant_a, tenant_b)]
    for memory in memories:
        await memory.retain(f"The secret of {core_of(memory).storage.tenant_database.tenant.name}.")
    return memories


def asked(admin: AppConnection, tenant: Tenant, signature: str | None) -> dict[str, dict[str, Any]]:
    """The queries of a recall, each with parameters that find all memories of a tenant."""
    rows = admin.execute("SELECT memory_id FROM state.memories WHERE tenant_id = %s", [tenant.id]).fetchall()
    (table,) = admin.execute("SELECT table_name FROM mnemic.vector_models").fetchone() or ("",)
    everything = (*[None] * 8, ["active"], datetime.now(UTC), False, *[None] * 7)
    common = {"tenant_id": tenant.id, "signature": signature, "owner": OWNER}
    around = {
        **common,
        "filter": everything,
        "granted": None,
        "as_of": None,
        "limit": 100,
        "ids": [row[0] for row in rows],
        "expanded_ids": [row[0] for row in rows],
        "expanded": 5,
        "reach": 2,
        "terms": ["'secret'"],
        "along_bytes": 1_000,
    }
    words = {"searched": ["'secret'"], "weights": None, "memory_total": 1, "mean_bytes": None}
    rare = {"counts": None, "certainties": [1.0], "memory_count": 1}
    query_text = {
        "query": "secret",
        "phrases": [],
        "count_max": 10,
        "statistics_age": timedelta(days=1),
        "suspects": [],
        "language": None,
        "channels": [],
        "terms_max": 32,
        "searches": True,
    }
    near = {"vector": VECTOR, "near": None, "index_name": None, "ef_search": 60, "sample_owner": OWNER}
    windows = {
        "windows_since": [datetime(2000, 1, 1, tzinfo=UTC)],
        "windows_until": [datetime(2100, 1, 1, tzinfo=UTC)],
        "window_max": 100,
        "lists_windows": False,
        "by_time_max": 100,
    }
    return {
        "recall.terms": {**around, **query_text},
        "recall.words": {**around, **words},
        "recall.words_by_rarity": {**around, **words, **rare},
        "recall.near": {**around, **near, **windows, "model": MODEL, "vector_table": table},
        "recall.nearest_granted": {**around, "granted": everything, "vector": VECTOR, "vector_table": table},
        "recall.records": {**common, "ids": [row[0] for row in rows]},
    }


def statement(name: str, parameters: dict[str, Any]) -> LiteralString:
    """The statement that a recall sends."""
    if name == "recall.near":
        return with_cosines(query(name), parameters["vector_table"])
    return query(name)


def found_by(connection: psycopg.Connection[Any], name: str, parameters: dict[str, Any]) -> list[Any]:
    """The parts of memories that a query returns: ids, contents, vectors."""
    rows = connection.execute(statement(name, parameters), parameters).fetchall()
    return [value for row in rows for value in row if isinstance(value, list | str) and value != []]


def test_the_right_signature_reads(
    access: Access,
    admin: AppConnection,
    tenant_b: Tenant,
    known: list[AsyncMemory],
    subtests: pytest.Subtests,
) -> None:
    with psycopg.connect(access.conninfo(), autocommit=True) as connection:
        signed = access.key.signature("authenticate", str(tenant_b.id), process=backend_identity(connection))
        for name in SIGNED:
            with subtests.test(name):
                assert found_by(connection, name, asked(admin, tenant_b, signed)[name])


def test_nothing_of_a_tenant_is_read_without_its_own_signature_for_this_very_process(
    access: Access,
    connect_as: ConnectAs,
    admin: AppConnection,
    tenant_a: Tenant,
    tenant_b: Tenant,
    known: list[AsyncMemory],
    subtests: pytest.Subtests,
) -> None:
    for name, in_transaction, whose in product(SIGNED, (False, True), WRONG_SIGNATURES):
        with subtests.test(name, in_transaction=in_transaction, whose=whose):
            connection = connect_as(tenant_a)
            if not in_transaction:
                connection.execute("ROLLBACK")
            signed = wrong_signature(whose, access, connection, mine=tenant_a, theirs=tenant_b)
            parameters = asked(admin, tenant_b, signed)[name]
            foreign = {str(memory_id) for memory_id in parameters["ids"]}
            try:
                seen = connection.execute(statement(name, parameters), parameters).fetchall()
            except psycopg.errors.InsufficientPrivilege:
                seen = []
            connection.close()
            assert f"secret of {tenant_b.name}" not in str(seen)
            # Only the tenant that has the memories gets them.
            assert not any(memory_id in str(seen) for memory_id in foreign)


@pytest.mark.parametrize(
    "table", ["tenant_models", "nothing", 'x"; DELETE FROM state.memories; --', "../state.memories"]
)
def test_a_forged_name_of_a_table_leads_nowhere(
    connect_as: ConnectAs, admin: AppConnection, tenant_a: Tenant, known: list[AsyncMemory], table: str
) -> None:
    connection = connect_as(tenant_a)
    parameters = asked(admin, tenant_a, None)["recall.near"] | {"vector_table": table}
    with pytest.raises((psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn)):
        connection.execute(query("recall.near"), parameters)
    connection.close()
    assert admin.execute("SELECT count(*) FROM state.memories").fetchone() == (2,)


async def test_nothing_of_a_tenant_stays_on_the_connections_of_a_recall(known: list[AsyncMemory]) -> None:
    memory = known[0]
    assert await memory.recall("the secret", refuse_below=0)
    async with core_of(memory).storage.database._pool.connection() as connection:
        cursor = await connection.execute(
            "SELECT mnemic.current_tenant() AS tenant, current_setting('enable_sort') AS sorts"
        )
        assert await cursor.fetchone() == {"tenant": None, "sorts": "on"}


async def test_where_signatures_do_not_hold_a_transaction_asks_the_same(
    known: list[AsyncMemory], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = known[0]
    signed = await memory.recall("the secret", refuse_below=0)

    async def backend_identity_of_a_pooler(self: Database, connection: object) -> str:
        return "another one with every statement"

    monkeypatch.setattr(Database, "_backend_identity", backend_identity_of_a_pooler)
    proved = await memory.recall("the secret", refuse_below=0)
    assert [hit.memory.content for hit in proved] == [hit.memory.content for hit in signed]
    assert len(proved) == 1
