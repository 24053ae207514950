-- needs: memories/usefulness
-- What speaks for promoting a memory. Uses are recalls, retaining it again, and conversations in which it was useful.
-- Conversations are those that found it useful or cited it, and those that it was derived from; forgotten turns do not count.
CREATE OR REPLACE VIEW state.promotion_evidence WITH (security_invoker = true) AS
SELECT
    memories.tenant_id, memories.memory_id, memories.owner, memories.channel, memories.status, memories.deleted_at,
    memories.confidence,
    coalesce(counts.retrieval_count, 0)::bigint + memories.reinforcement_count + coalesce(counts.useful_count, 0) AS uses,
    (
        SELECT count(*)
        FROM (
            SELECT feedback.conversation
            FROM state.memory_feedback AS feedback
            WHERE feedback.tenant_id = memories.tenant_id AND feedback.memory_id = memories.memory_id
              AND feedback.kind <> 'not_useful' AND feedback.conversation IS NOT NULL
            UNION
            SELECT turns.conversation
            FROM state.memory_relationships AS derived
            JOIN state.memories AS turns ON turns.tenant_id = derived.tenant_id AND turns.memory_id = derived.to_id
            WHERE derived.tenant_id = memories.tenant_id AND derived.from_id = memories.memory_id
              AND derived.kind = 'derived_from' AND turns.conversation IS NOT NULL AND turns.deleted_at IS NULL
        ) AS used_in
    ) AS conversations,
    mnemic.usefulness(memories.usefulness, counts.useful_count, counts.not_useful_count) AS usefulness
FROM state.memories LEFT JOIN state.recall_counts AS counts USING (tenant_id, memory_id);
GRANT SELECT ON state.promotion_evidence TO mnemic_app;
