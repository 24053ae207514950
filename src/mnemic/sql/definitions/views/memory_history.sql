-- needs: views/memory_records
-- Every version of every memory: the columns of state.memory_records, and until when the version was current; NULL means
-- that it still is.
CREATE OR REPLACE VIEW state.memory_history WITH (security_invoker = true) AS
SELECT records.*, NULL::timestamptz AS known_until
FROM state.memory_records AS records
UNION ALL
SELECT
    memory_id, version, owner, channel, process, conversation, "position", role, name, content, category, tags, metadata,
    source, provenance, evidence, confidence, anchored, status, superseded_by, merged_into, at, valid_from, valid_to,
    expires_at, deleted_at, created_at, recorded_at, changed_by, change_reason, whole_id, chunk_index, chunk_count,
    external_id, usefulness, salience, reinforcement_count, retrieval_count, last_retrieved_at,
    last_injected_at, NULL::uuid AS outdated_by, tenant_id, branch,
    known_until
FROM state.memory_versions;
GRANT SELECT ON state.memory_history TO mnemic_app;
