-- The tombstones of branches that count: those of a merge that was undone do not.
CREATE OR REPLACE VIEW state.hidden_memories WITH (security_invoker = true) AS
SELECT tenant_id, owner, channel, memory_id, hidden_at, shown_at, replaced_by, reason
FROM state.branch_tombstones AS hidden
WHERE NOT EXISTS (
    SELECT FROM state.changesets AS merge
    WHERE merge.tenant_id = hidden.tenant_id AND merge.changeset_id = hidden.changeset_id AND merge.state = 'undone'
);
GRANT SELECT ON state.hidden_memories TO mnemic_app, mnemic_definer;
