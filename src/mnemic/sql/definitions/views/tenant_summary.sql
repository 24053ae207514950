-- A tenant at a glance: this view and the four others of which traces.snapshots keeps rows.
--
-- The views are computed when they are queried, which takes long in a large tenant. A job of the tenant writes
-- their rows to traces.snapshots; readers see the previous ones until it commits. Materialized views would hold
-- the rows of all tenants without row-level security and be refreshed for all at once
-- (docs/adr/0016-snapshots-per-tenant.md). They contain counts and no names, so that erasing an owner leaves
-- nothing in them.
CREATE OR REPLACE VIEW traces.tenant_summary WITH (security_invoker = true) AS
SELECT
    counted.*,
    (SELECT count(*) FROM state.memory_versions) AS earlier_version_count,
    (SELECT count(*) FROM state.conversations WHERE archived_at IS NULL) AS conversation_count,
    (SELECT count(*) FROM state.conversations WHERE archived_at IS NOT NULL) AS archived_conversation_count,
    (SELECT count(*) FROM state.entities) AS entity_count,
    (SELECT count(*) FROM state.entity_relations) AS entity_relation_count,
    (SELECT count(*) FROM state.reference_documents) AS document_count,
    (SELECT count(*) FROM state.state_documents) AS state_document_count,
    (SELECT count(*) FROM state.near_duplicates WHERE decision = 'pending') AS pending_near_duplicate_count,
    (SELECT count(*) FROM queue.embedding_backlog) AS awaiting_embedding_count
FROM (
    SELECT
        count(DISTINCT owner) AS owner_count,
        count(*) AS memory_count,
        count(*) FILTER (WHERE status = 'active' AND deleted_at IS NULL) AS active_count,
        count(*) FILTER (WHERE status = 'pending_review' AND deleted_at IS NULL) AS pending_review_count,
        count(*) FILTER (WHERE status = 'archived' AND deleted_at IS NULL) AS archived_count,
        count(*) FILTER (WHERE status IN ('superseded', 'merged') AND deleted_at IS NULL) AS replaced_count,
        count(*) FILTER (WHERE deleted_at IS NOT NULL) AS forgotten_count,
        count(*) FILTER (WHERE anchored) AS anchored_count,
        coalesce(sum(octet_length(content)), 0)::bigint AS content_bytes
    FROM state.memories
) AS counted;
COMMENT ON VIEW traces.tenant_summary IS 'How much a tenant holds; one row.';
GRANT SELECT ON traces.tenant_summary TO mnemic_app;
