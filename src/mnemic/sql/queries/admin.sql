-- The tenant at a glance.

-- name: stats
-- One row: how much the tenant holds.
SELECT
    (SELECT count(*) FROM state.memories) AS memory_count,
    (SELECT count(*) FROM state.memories WHERE status = 'active' AND deleted_at IS NULL) AS active_memory_count,
    (SELECT count(*) FROM state.memory_versions) AS earlier_version_count,
    (SELECT count(*) FROM state.conversations) AS conversation_count,
    (SELECT count(*) FROM state.entities) AS entity_count,
    (SELECT count(*) FROM state.reference_documents) AS document_count,
    (SELECT count(*) FROM state.near_duplicates WHERE decision = 'pending') AS pending_near_duplicate_count,
    (SELECT count(*) FROM queue.embedding_backlog WHERE gave_up_at IS NULL) AS awaiting_embedding_count
