-- Logged calls: writing ones unless the setting `memory_log` is off, reading ones if it says so.
CREATE OR REPLACE VIEW traces.metrics_24h WITH (security_invoker = true) AS
SELECT
    operation,
    count(*) AS call_count,
    sum(memory_count)::bigint AS memory_count,
    count(*) FILTER (WHERE detail -> 'refused' = 'true') AS refused_count,
    percentile_cont(0.50) WITHIN GROUP (ORDER BY duration_ms) AS p50_ms,
    percentile_cont(0.95) WITHIN GROUP (ORDER BY duration_ms) AS p95_ms,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY duration_ms) AS p99_ms
FROM traces.memory_log
WHERE logged_at >= now() - interval '24 hours'
GROUP BY operation;
COMMENT ON VIEW traces.metrics_24h IS 'The calls of the last 24 hours by operation, and how long they took.';
GRANT SELECT ON traces.metrics_24h TO mnemic_app;
