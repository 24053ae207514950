"""Attacks on ingested documents, and on changing the embedding model; see `attacks`."""

from tests.attacks.tenants.target import FIRST_MODEL, NEXT_MODEL, OLD_MODEL

COPY_A_CHUNK = """
    INSERT INTO state.document_chunks (
        tenant_id, document_id, owner, content_hash, occurrence, memory_id, chunk_index, start_character,
        end_character
    )
    SELECT '{b}', document_id, owner, content_hash, 7, memory_id, 7, 0, 1
    FROM state.document_chunks WHERE tenant_id = '{b}'
"""

HARMLESS: dict[str, tuple[str, ...]] = {
    "policy off": (
        "TABLE state.document_sources",
        "SELECT context FROM state.document_chunks",
        "SELECT content FROM state.document_sources NATURAL JOIN state.document_chunks",
        "TABLE vectors.tenant_models",
        "SELECT * FROM mnemic.vector_tables_in_use()",
        "SELECT string_agg(name, ',') FROM state.document_chunks JOIN state.tenants USING (tenant_id)",
        "SELECT string_agg(name, ',') FROM queue.reembedding JOIN state.tenants USING (tenant_id)",
        "UPDATE state.document_sources SET content = 'forged', ingested_version = 9",
        "UPDATE state.document_chunks SET context = 'forged' WHERE tenant_id = '{b}'",
        "UPDATE queue.reembedding SET gave_up_at = now()",
        "DELETE FROM state.document_sources",
        "DELETE FROM state.document_chunks WHERE tenant_id = '{b}' RETURNING *",
        "DELETE FROM queue.reembedding",
        COPY_A_CHUNK,
    ),
    "settings are trusted": (
        "SET mnemic.tenant = '{b}'; SELECT content FROM state.document_sources",
        "SET mnemic.tenant = '{b}'; SELECT * FROM mnemic.vector_tables_in_use()",
        "SET mnemic.tenant = '{b}'; SELECT mnemic.set_first_model(NULL, NULL)",
        f"SET mnemic.tenant = '{{b}}'; SELECT mnemic.begin_model_change('{FIRST_MODEL}')",
        f"SET mnemic.tenant = '{{b}}'; SELECT mnemic.fill_reembedding_backlog('{NEXT_MODEL}')",
        f"SET mnemic.tenant = '{{b}}'; SELECT mnemic.fill_reembedding_backlog('{NEXT_MODEL}');"
        f" SELECT mnemic.switch_model('{NEXT_MODEL}', 1000)",
    ),
    "what others have is not seen when a model is dropped": (
        # One that B is changing to, and one that B has old vectors of.
        f"SELECT mnemic.drop_vectors('{NEXT_MODEL}')",
        f"SELECT mnemic.drop_vectors('{OLD_MODEL}')",
    ),
}

REFUSED: dict[str, tuple[str, ...]] = {
    "superuser": (
        "UPDATE vectors.tenant_models SET next_model = NULL",
        "INSERT INTO vectors.tenant_models (tenant_id, model) VALUES ('{a}', 'forged')",
        "DELETE FROM vectors.tenant_models",
        "DELETE FROM mnemic.vector_models",
        "DROP POLICY find_unused_models ON vectors.tenant_models",
        "ALTER FUNCTION mnemic.switch_model RENAME TO planted",
    ),
}
