"""What the role of the application cannot do, whatever SQL it runs."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from mnemic.db.access import Access
from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection, access_to
from tests.fresh_tenants import Rows
from tests.proofs import begin_as

# A comparison in the background is a transaction, and changes the backlog.
pytestmark = pytest.mark.usefixtures("no_comparisons")

REFUSED = psycopg.errors.InsufficientPrivilege

FORBIDDEN = (
    "UPDATE state.memory_versions SET content = 'forged'",
    "DELETE FROM state.memory_versions",
    "TRUNCATE state.memory_versions",
    "INSERT INTO state.memory_versions (known_until, tenant_id) SELECT now(), tenant_id FROM state.memories",
    "INSERT INTO state.memory_versions SELECT * FROM state.memory_versions",
    "DELETE FROM state.memories",
    "TRUNCATE state.memories CASCADE",
    *(
        f"UPDATE state.memories SET {column} = {column}"
        for column in (
            "tenant_id",
            "memory_id",
            "version",
            "owner",
            "process",
            "conversation",
            '"position"',
            "role",
            "name",
            "created_at",
            "recorded_at",
            "whole_id",
            "whole_hash",
            "chunk_index",
            "chunk_count",
            "external_id",
        )
    ),
    "DELETE FROM state.recall_counts",
    "TRUNCATE state.recall_counts",
    "UPDATE state.recall_counts SET memory_id = memory_id",
    "DELETE FROM state.conversations",
    "UPDATE state.conversations SET owner = 'bob'",
    "UPDATE state.conversations SET conversation = 'forged'",
    "UPDATE state.tool_invocations SET result = 'forged'",
    "DELETE FROM state.tool_invocations",
    "UPDATE traces.audit_log SET target = 'forged'",
    "DELETE FROM traces.audit_log",
    "UPDATE traces.memory_log SET owner = 'bob'",
    "DELETE FROM traces.memory_log",
    "UPDATE mnemic.vector_models SET dimensions = 1",
    "INSERT INTO mnemic.vector_models VALUES ('m', 1, 't')",
    "DELETE FROM mnemic.vector_models",
    "UPDATE vectors.{table} SET embedding = embedding",
    "TRUNCATE vectors.{table}",
    "DROP TABLE vectors.{table}",
    "ALTER TABLE state.memories DISABLE TRIGGER keep_version",
    "ALTER TABLE state.memories NO FORCE ROW LEVEL SECURITY",
    "DROP TRIGGER keep_version ON state.memories",
    "CREATE OR REPLACE FUNCTION mnemic.keep_version() RETURNS trigger LANGUAGE sql RETURN NULL",
    "SET ROLE mnemic_definer",
    "SELECT key FROM mnemic.signing_key",
    "CALL mnemic.protect('state.memories', 'ALL')",
    "SELECT mnemic.create_vector_table('forged', 3)",
    "SELECT mnemic.create_log_partition('2026-01-01')",
    "SELECT mnemic.erase_owner('alice')",
    "SELECT mnemic.import_rows('state.memories', 'alice', '[]')",
    "SELECT mnemic.import_rows('state.memory_versions', 'alice', '[]')",
)


@pytest.fixture
def application(
    template_access: Access, shared_database_name: str, memory: AsyncMemory
) -> Iterator[AppConnection]:
    """A connection of the application's login in a transaction that proves the tenant, and no more."""
    access = access_to(template_access, shared_database_name)
    with psycopg.connect(access.conninfo(), autocommit=True) as connection:
        begin_as(connection, access.key, memory.tenant)
        yield connection
        connection.rollback()


@pytest.fixture
async def memory_id(memory: AsyncMemory) -> UUID:
    """A memory with a history, a vector, a conversation and a tool."""
    (memory_id,) = (await memory.retain("Alice lives in Berlin.", conversation="c")).memory_ids
    await memory.memories.update(memory_id, content="Alice lives in Bonn.")
    await memory.conversations.record_tool("c", "search", memory_id=memory_id)
    await memory.entities.delete((await memory.entities.upsert("city", "Bonn")).entity_id)
    return memory_id


async def test_the_application_cannot_change_history_or_identity(
    application: AppConnection, memory: AsyncMemory, memory_id: UUID, rows: Rows
) -> None:
    table = rows.value("SELECT table_name FROM mnemic.vector_models WHERE model = 'test:hash-64'")
    before = await memory.memories.history(memory_id), rows.counts(memory.tenant.id)
    accepted = [
        statement for statement in FORBIDDEN if not is_refused(application, statement.format(table=table))
    ]
    application.execute("COMMIT")
    assert accepted == []
    assert (await memory.memories.history(memory_id), rows.counts(memory.tenant.id)) == before


def is_refused(application: AppConnection, statement: str) -> bool:
    application.execute("SAVEPOINT before")
    try:
        application.execute(statement.encode())
    except REFUSED:
        application.execute("ROLLBACK TO before")
        return True
    return False


@pytest.mark.parametrize("proof", ["tenant", "maintenance"])
async def test_a_proof_of_maintenance_for_another_tenant_is_rejected(
    shared_database: Database, memory: AsyncMemory, memory_id: UUID, application: AppConnection, proof: str
) -> None:
    """Neither the tenant's own proof under the other name nor a foreign tenant's maintenance erases."""
    other = await shared_database.open_tenant("somebody else's")
    key = shared_database.access.key
    (moment,) = application.execute("SELECT mnemic.transaction_identity()").fetchone() or ("",)
    subject = str(memory.tenant.id) if proof == "tenant" else str(other.id)
    signed = key.proof("tenant" if proof == "tenant" else "maintenance", subject, moment=str(moment))
    application.execute("SELECT set_config('mnemic.maintenance', %s, true)", [subject])
    application.execute("SELECT set_config('mnemic.maintenance_proof', %s, true)", [signed])
    with pytest.raises(REFUSED, match="proof of maintenance"):
        application.execute("SELECT mnemic.erase_owner('alice')")


async def test_erasing_and_importing_see_only_their_tenant(
    shared_database: Database, memory: AsyncMemory, memory_id: UUID, rows: Rows
) -> None:
    other: Tenant = await shared_database.open_tenant("somebody else's")
    before = rows.counts(memory.tenant.id)
    async with shared_database.transaction(other, maintenance=True) as transaction:
        erased = await transaction.rows("owners.erase", {"owner": "alice"})
    assert sum(row["row_count"] for row in erased) == 0
    assert rows.counts(memory.tenant.id) == before


async def test_a_version_is_written_even_by_a_plain_update(
    application: AppConnection, memory_id: UUID, memory: AsyncMemory
) -> None:
    application.execute("UPDATE state.memories SET content = 'by hand' WHERE memory_id = %s", [memory_id])
    application.execute("COMMIT")
    assert [record.content for record in await memory.memories.history(memory_id)] == [
        "Alice lives in Berlin.",
        "Alice lives in Bonn.",
        "by hand",
    ]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("content", ""),
        ("content", "x" * 8193),
        ("category", "fact"),
        ("source", "me"),
        ("provenance", "guessed"),
        ("status", "gone"),
        ("confidence", 1.5),
        ("confidence", "NaN"),
        ("usefulness", -0.5),
        ("salience", 2),
        ("changed_by", "me"),
        ("metadata", "[1]"),
        ("reinforcement_count", -1),
    ],
)
async def test_the_database_itself_checks_every_value(
    application: AppConnection, memory_id: UUID, column: str, value: Any
) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        application.execute(f"UPDATE state.memories SET {column} = %s".encode(), [value])


async def test_a_count_is_never_negative(application: AppConnection, memory_id: UUID) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        application.execute(
            "INSERT INTO state.recall_counts SELECT tenant_id, memory_id, -1 FROM state.memories"
        )


def test_a_version_keeps_every_column(rows: Rows) -> None:
    """A column missing in the trigger would be NULL in every version."""
    columns = rows.select(
        "SELECT quote_ident(attname) FROM pg_attribute"
        " WHERE attrelid = 'state.memory_versions'::regclass AND attnum > 0 AND NOT attisdropped"
    )
    source = str(rows.value("SELECT prosrc FROM pg_proc WHERE oid = 'mnemic.keep_version'::regproc"))
    listed = re.search(r"INSERT INTO state.memory_versions \((.*?)\)", source, re.DOTALL)
    assert listed
    assert sorted(name.strip() for name in listed[1].split(",")) == sorted(str(name) for (name,) in columns)
    of_memories = rows.select(
        "SELECT quote_ident(attname) FROM pg_attribute"
        " WHERE attrelid = 'state.memories'::regclass AND attnum > 0 AND NOT attisdropped"
    )
    assert set(columns) - set(of_memories) == {("known_until",), ("retrieval_count",), ("last_retrieved_at",)}
    assert set(of_memories) <= set(columns)


CASCADES = """
    WITH RECURSIVE reached AS (
        SELECT oid AS cause, oid AS effect FROM pg_class
        WHERE relkind IN ('r', 'p') AND relnamespace IN (
            SELECT oid FROM pg_namespace WHERE nspname IN ('mnemic', 'state', 'vectors', 'traces', 'queue')
        ) AND has_table_privilege('mnemic_app', oid, 'DELETE')
        UNION
        SELECT cause, conrelid FROM reached
        JOIN pg_constraint ON contype = 'f' AND confrelid = effect AND confdeltype = 'c'
    )
    SELECT cause::regclass::text, effect::regclass::text FROM reached
    WHERE NOT has_table_privilege('mnemic_app', effect, 'DELETE')
"""


def test_no_cascade_deletes_immutable_rows(rows: Rows) -> None:
    """A deleted entity takes its facts along, on purpose: they go to the archive. A webhook takes its log."""
    assert set(rows.select(CASCADES)) == {
        ("state.entities", "state.entity_facts"),
        ("queue.webhooks", "queue.webhook_deliveries"),
    }
