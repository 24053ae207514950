-- Counts of a tenant.

-- name: stats
-- One row: how much the tenant holds.
SELECT
    (SELECT count(*) FROM state.memories WHERE memories.tenant_id = %(tenant_id)s) AS memory_count,
    (SELECT count(*) FROM state.memories
        WHERE memories.tenant_id = %(tenant_id)s
          AND status = 'active' AND deleted_at IS NULL) AS active_memory_count,
    (SELECT count(*) FROM state.memory_versions WHERE tenant_id = %(tenant_id)s) AS earlier_version_count,
    (SELECT count(*) FROM state.conversations WHERE conversations.tenant_id = %(tenant_id)s) AS conversation_count,
    (SELECT count(*) FROM state.entities WHERE entities.tenant_id = %(tenant_id)s) AS entity_count,
    (SELECT count(*) FROM state.reference_documents WHERE tenant_id = %(tenant_id)s) AS document_count,
    (SELECT count(*) FROM state.near_duplicates
        WHERE near_duplicates.tenant_id = %(tenant_id)s AND decision = 'pending') AS pending_near_duplicate_count,
    (SELECT count(*) FROM queue.embedding_backlog
        WHERE embedding_backlog.tenant_id = %(tenant_id)s AND gave_up_at IS NULL) AS awaiting_embedding_count,
    now() AS counted_at
