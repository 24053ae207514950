-- Goals as the API returns them: the fields of mnemic.types.goal.Goal, in their order, then the status as it is stored
-- and the tenant, which queries name.
--
-- A goal is absent while its memory is forgotten, superseded or merged; then it blocks nothing and is nobody's parent.
-- An active goal with a blocker that is not completed is blocked: that is computed here, so that completing, forgetting or
-- erasing the blocker unblocks it in the same moment.
CREATE OR REPLACE VIEW state.goal_records WITH (security_invoker = true) AS
SELECT
    goals.memory_id AS goal_id, goals.owner, memories.channel, memories.content,
    CASE WHEN goals.status = 'active' AND cardinality(blockers.not_completed) > 0 THEN 'blocked' ELSE goals.status END AS status,
    goals.priority, goals.deadline, goals.result,
    (
        SELECT parent.memory_id FROM state.memories AS parent
        WHERE parent.tenant_id = goals.tenant_id AND parent.memory_id = goals.parent_id
          AND parent.deleted_at IS NULL AND parent.status IN ('active', 'archived', 'pending_review')
    ) AS parent_id,
    blockers.blocked_by, blockers.not_completed AS open_blockers,
    memories.tags, memories.metadata, memories.created_at, goals.updated_at,
    goals.status AS stored_status,
    goals.tenant_id
FROM state.goals
JOIN state.memories ON memories.tenant_id = goals.tenant_id AND memories.memory_id = goals.memory_id
    AND memories.owner = goals.owner
CROSS JOIN LATERAL (
    SELECT
        coalesce(array_agg(blocker.memory_id ORDER BY blocker.memory_id), '{}') AS blocked_by,
        coalesce(
            array_agg(blocker.memory_id ORDER BY blocker.memory_id) FILTER (WHERE blocker.status <> 'completed'), '{}'
        ) AS not_completed
    FROM state.goal_blockers AS link
    JOIN state.goals AS blocker ON blocker.tenant_id = link.tenant_id AND blocker.memory_id = link.blocked_by
    JOIN state.memories AS text ON text.tenant_id = blocker.tenant_id AND text.memory_id = blocker.memory_id
    WHERE link.tenant_id = goals.tenant_id AND link.goal_id = goals.memory_id
      AND text.deleted_at IS NULL AND text.status IN ('active', 'archived', 'pending_review')
) AS blockers
WHERE memories.deleted_at IS NULL AND memories.status IN ('active', 'archived', 'pending_review');
GRANT SELECT ON state.goal_records TO mnemic_app;
