-- Active memories that were not used for long, by category; one of the views of views/tenant_summary.sql.
CREATE OR REPLACE VIEW traces.stale_active WITH (security_invoker = true) AS
SELECT
    category,
    count(*) AS active_count,
    count(*) FILTER (WHERE used_at < now() - interval '30 days') AS unused_30d_count,
    count(*) FILTER (WHERE used_at < now() - interval '90 days') AS unused_90d_count,
    count(*) FILTER (WHERE valid_to < now()) AS no_longer_valid_count,
    count(*) FILTER (WHERE expires_at < now()) AS expired_count
FROM (
    SELECT category, valid_to, expires_at, coalesce(counts.last_retrieved_at, created_at) AS used_at
    FROM state.memories LEFT JOIN state.recall_counts AS counts USING (tenant_id, memory_id)
    WHERE status = 'active' AND deleted_at IS NULL
) AS active
GROUP BY category;
COMMENT ON VIEW traces.stale_active IS 'Active memories by category, and how many of them nobody has used for long.';
GRANT SELECT ON traces.stale_active TO mnemic_app;
