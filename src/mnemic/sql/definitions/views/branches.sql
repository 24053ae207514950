-- Branches with their state. A merge that was undone left the branch open.
CREATE OR REPLACE VIEW state.branches WITH (security_invoker = true) AS
SELECT
    forked.tenant_id, forked.owner, forked.channel, forked.parent, forked.reason, forked.process, forked.forked_at,
    forked.merged_at, forked.changeset_id,
    CASE WHEN forked.merged_at IS NULL OR merge.state = 'undone' THEN 'open' ELSE 'merged' END AS state
FROM state.channel_branches AS forked
LEFT JOIN state.changesets AS merge
    ON merge.tenant_id = forked.tenant_id AND merge.changeset_id = forked.changeset_id;
GRANT SELECT ON state.branches TO mnemic_app, mnemic_definer;
