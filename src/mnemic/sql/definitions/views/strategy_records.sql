-- Strategies as the API returns them, without what is computed from the counts; then the tenant, which queries name. A
-- strategy is absent while its memory is not active. The notes are those of its three latest failures.
CREATE OR REPLACE VIEW state.strategy_records WITH (security_invoker = true) AS
SELECT
    strategies.memory_id AS strategy_id, strategies.owner, memories.channel, strategies.task, memories.content,
    strategies.tools, strategies.is_mined, strategies.success_count, strategies.failure_count,
    ARRAY(
        SELECT strategy_uses.note
        FROM state.strategy_uses
        WHERE strategy_uses.tenant_id = strategies.tenant_id AND strategy_uses.strategy_id = strategies.memory_id
          AND NOT strategy_uses.succeeded AND strategy_uses.note IS NOT NULL
        ORDER BY strategy_uses.at DESC, strategy_uses.use_id DESC
        LIMIT 3
    ) AS failure_notes,
    strategies.last_used_at, memories.created_at,
    strategies.tenant_id
FROM state.strategies
JOIN state.memories ON memories.tenant_id = strategies.tenant_id AND memories.memory_id = strategies.memory_id
    AND memories.owner = strategies.owner
WHERE memories.deleted_at IS NULL AND memories.status = 'active';
GRANT SELECT ON state.strategy_records TO mnemic_app;
