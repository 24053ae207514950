"""With many documents and a long list to embed anew, each step reads what it needs by an index.

As the application's role, of a tenant that has nearly everything: what is a scan there is a scan of all.
Counting (`reembedding.waiting`, `reembedding.memory_count`) reads everything on purpose.
"""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from mnemic.db.access import DATABASE_NAME, Access
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.db.tenancy import Tenant
from mnemic.sql import query
from tests.conftest import AppConnection, Databases, access_to
from tests.proofs import begin_as

DOCUMENTS = 250
CHUNKS_EACH = 100
BATCH = 20
# A hundred chunks with their memories are found, and a batch is written with all its index entries.
PAGES_MAX = 2_500

FILL = f"""
    INSERT INTO state.tenants (name) VALUES ('large'), ('small');
    INSERT INTO state.memories (tenant_id, owner, channel, process, content, category, source, metadata)
    SELECT tenant_id, 'owner ' || number % 10, '_global', 'test', 'words ' || number, 'reference', 'imported',
        '{{"document": "guide"}}'
    FROM state.tenants, generate_series(1, {DOCUMENTS * CHUNKS_EACH}) AS number
    WHERE name = 'large' OR number <= 1000;
    INSERT INTO state.reference_documents (tenant_id, owner, name, content_hash, character_count, process)
    SELECT tenant_id, 'owner ' || number % 10, 'document ' || number, sha256('x'), 1, 'test'
    FROM state.tenants, generate_series(1, {DOCUMENTS}) AS number;
    INSERT INTO state.document_sources (
        tenant_id, document_id, owner, channel, tags, media_type, content, sections
    )
    SELECT tenant_id, document_id, owner, '_global', '{{}}', 'text/plain', 'text', '[]'
    FROM state.reference_documents;
    INSERT INTO state.document_chunks (
        tenant_id, document_id, owner, content_hash, occurrence, memory_id, chunk_index, start_character,
        end_character
    )
    SELECT tenant_id, document_id, document.owner, sha256(chunk.content::bytea), 0, memory_id, place, 0, 1
    FROM (
        SELECT *, row_number() OVER (PARTITION BY tenant_id ORDER BY memory_id) - 1 AS number
        FROM state.memories
    ) AS chunk
    JOIN (
        SELECT *, row_number() OVER (PARTITION BY tenant_id ORDER BY document_id) - 1 AS nth
        FROM state.reference_documents
    ) AS document USING (tenant_id),
    LATERAL (SELECT chunk.number % {CHUNKS_EACH} AS place) AS places
    WHERE chunk.number / {CHUNKS_EACH} = document.nth;
    INSERT INTO queue.reembedding (tenant_id, memory_id) SELECT tenant_id, memory_id FROM state.memories;
    INSERT INTO queue.jobs (tenant_id, type, payload, priority, state, run_at)
    SELECT tenant_id, 'mail', '{{"model": "m"}}', 0, 'waiting', now()
    FROM state.tenants, generate_series(1, 20000) WHERE name = 'large';
    ANALYZE;
"""

Large = tuple[AppConnection, dict[str, Any]]


@pytest.fixture(scope="module")
def large(template_access: Access, databases: Databases, server: EmbeddedServer) -> Iterator[Large]:
    """A connection of the application in a transaction of that tenant, and what queries ask for."""
    name = databases.make(template=DATABASE_NAME)
    with psycopg.connect(server.conninfo(user=ADMIN_ROLE, dbname=name), autocommit=True) as admin:
        admin.execute(FILL.encode())
        ((tenant_id,),) = admin.execute("SELECT tenant_id FROM state.tenants WHERE name = 'large'").fetchall()
    access = access_to(template_access, name)
    with psycopg.connect(access.conninfo(), autocommit=True) as connection:
        begin_as(connection, access.key, Tenant(tenant_id, "large"))
        yield connection, parameters_of(connection, tenant_id)
    databases.give_back(name)


def parameters_of(connection: AppConnection, tenant_id: object) -> dict[str, Any]:
    """One document of the middle, and a batch of its chunks, under all names that the queries use."""
    rows = connection.execute(
        "SELECT document_id, encode(chunk.content_hash, 'hex'), memory_id, name, document.owner"
        " FROM state.document_chunks AS chunk"
        " JOIN state.reference_documents AS document USING (tenant_id, document_id)"
        f" WHERE name = 'document 125' ORDER BY chunk_index LIMIT {BATCH}".encode()
    ).fetchall()
    document_id, _, memory_id, name, owner = rows[0]
    place = {"chunk_index": 7, "start_character": 1, "end_character": 2, "headings": [], "page": None}
    chunks = [{"content_hash": row[1], "occurrence": 0, "memory_id": str(row[2]), **place} for row in rows]
    ids = [row[2] for row in rows]
    return {
        "tenant_id": tenant_id,
        "document_id": document_id,
        "memory_id": memory_id,
        "name": name,
        "owner": owner,
        "ids": ids,
        "contexts": ["before"] * BATCH,
        "errors": ["no"] * BATCH,
        "hashes": " ".join(str(row[1]) for row in rows),
        "occurrences": [0] * BATCH,
        "chunks": json.dumps(chunks),
        "memories": json.dumps([{"memory_id": str(each), "metadata": {"page": 1}} for each in ids]),
        "after": memory_id,
        "limit": BATCH,
        "attempts_max": 5,
        "version": 1,
        "job_id": memory_id,
        "changed_by": "system",
        "reason": "gone",
        "type": "embedding.change",
        "model": "m",
    }


INDEXES: dict[str, set[str]] = {
    "ingest.get": {"reference_documents_tenant_id_owner_name_key", "document_sources_pkey"},
    "ingest.set_job": {"document_sources_pkey"},
    "ingest.has_job": {"jobs_pkey"},
    "ingest.source": {"reference_documents_pkey", "document_sources_pkey"},
    "ingest.text": {"document_sources_pkey"},
    "ingest.hold_version": {"reference_documents_pkey"},
    "ingest.made": set(),
    "ingest.move_chunks": {"document_chunks_pkey"},
    "ingest.describe_memories": {"memories_pkey"},
    "ingest.set_contexts": set(),
    "ingest.embeddable": {"memories_pkey"},
    "ingest.forget_chunks": {"memories_pkey", "document_chunks_memory"},
    "ingest.remove_chunks": {"document_chunks_pkey"},
    "ingest.remove_all_chunks": set(),
    "ingest.complete": {"document_sources_pkey"},
    "ingest.chunks": {"document_chunks_order"},
    "reembedding.job": {"jobs_running", "jobs_waiting", "jobs_scheduled"},
    "reembedding.mark": set(),
    "reembedding.batch": {"reembedding_pkey", "memories_pkey", "document_chunks_memory"},
    "reembedding.clear": {"reembedding_pkey"},
    "reembedding.refuse": {"reembedding_pkey"},
}


def test_a_step_reads_what_it_needs_by_an_index(large: Large, subtests: pytest.Subtests) -> None:
    for name, indexes in INDEXES.items():
        with subtests.test(name):
            check_plan(name, indexes, large)


def check_plan(name: str, indexes: set[str], large: Large) -> None:
    connection, parameters = large
    if name == "ingest.chunks":
        parameters = {**parameters, "after": 5, "memory_id": None}
    statement = f"EXPLAIN (ANALYZE, BUFFERS, COSTS off, FORMAT json) {query(name)}"
    with connection.transaction(force_rollback=True):
        ((found,),) = connection.execute(statement.encode(), parameters).fetchall()
    (top,) = found if isinstance(found, list) else json.loads(str(found))
    nodes = list(nodes_of(top["Plan"]))
    plan = json.dumps(top, indent=1)
    assert not [node for node in nodes if node["Node Type"] == "Seq Scan"], plan
    used = {node["Index Name"] for node in nodes if "Index Name" in node}
    assert used >= indexes, plan
    assert 0 < top["Plan"]["Shared Hit Blocks"] + top["Plan"]["Shared Read Blocks"] < PAGES_MAX, plan


def nodes_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A node of a plan, and all below it."""
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes_of(below)
