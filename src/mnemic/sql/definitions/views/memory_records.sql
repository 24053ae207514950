-- needs: memories/salience, memories/usefulness
-- The columns of a memory as the API returns it: the fields of mnemic.types.memory.MemoryRecord, in their order, then
-- the tenant and the branch, which queries name. Usefulness and salience are computed as of now.
-- Everything else that reads whole memories selects from this view or from state.memory_history.
CREATE OR REPLACE VIEW state.memory_records WITH (security_invoker = true) AS
SELECT
    memory_id, version, owner, channel, process, conversation, "position", role, name, content, category, tags, metadata,
    source, provenance, evidence, confidence, anchored, status, superseded_by, merged_into, at, valid_from, valid_to,
    expires_at, deleted_at, created_at, recorded_at, changed_by, change_reason, whole_id, chunk_index, chunk_count,
    external_id, mnemic.usefulness(usefulness, counts.useful_count, counts.not_useful_count) AS usefulness,
    mnemic.salience(
        salience, category, conversation, anchored, created_at, counts.retrieval_count, counts.last_retrieved_at,
        counts.useful_count, counts.not_useful_count, counts.last_useful_at, now()
    ) AS salience,
    reinforcement_count, coalesce(counts.retrieval_count, 0) AS retrieval_count,
    counts.last_retrieved_at, last_injected_at,
    (
        SELECT marked.newer_id
        FROM state.outdated_memories AS marked
        JOIN state.memories AS newer ON newer.tenant_id = marked.tenant_id AND newer.memory_id = marked.newer_id
        WHERE marked.tenant_id = memories.tenant_id AND marked.older_id = memories.memory_id AND marked.decision <> 'current'
          AND newer.deleted_at IS NULL
          -- What a branch says outdates nothing outside of it.
          AND (newer.branch IS NULL OR newer.branch = memories.branch)
        ORDER BY marked.newer_id DESC LIMIT 1
    ) AS outdated_by,
    tenant_id, branch
FROM state.memories LEFT JOIN state.recall_counts AS counts USING (tenant_id, memory_id);
GRANT SELECT ON state.memory_records TO mnemic_app;
