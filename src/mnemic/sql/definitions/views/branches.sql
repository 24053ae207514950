-- Branches with their state. A merge that was undone left the branch open.
CREATE OR REPLACE VIEW state.branches WITH (security_invoker = true) AS
SELECT
    tenant_id, owner, channel, parent, reason, process, forked_at, merged_at, changeset_id,
    CASE WHEN merged_at IS NULL OR EXISTS (
        SELECT FROM state.changesets AS merge
        WHERE merge.tenant_id = forked.tenant_id AND merge.changeset_id = forked.changeset_id AND merge.state = 'undone'
    ) THEN 'open' ELSE 'merged' END AS state
FROM state.channel_branches AS forked;
GRANT SELECT ON state.branches TO mnemic_app, mnemic_definer;
