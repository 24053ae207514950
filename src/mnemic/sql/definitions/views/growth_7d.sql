-- What was added and removed on each of the last seven days; one of the views of views/tenant_summary.sql.
CREATE OR REPLACE VIEW traces.growth_7d WITH (security_invoker = true) AS
WITH days AS (
    SELECT day::date AS day FROM generate_series(current_date - 6, current_date, interval '1 day') AS day
), retained AS (
    SELECT created_at::date AS day, count(*) AS made
    FROM state.memories WHERE created_at >= current_date - 6 GROUP BY 1
), faded AS (
    SELECT recorded_at::date AS day, count(*) AS made
    FROM state.memories
    WHERE recorded_at >= current_date - 6 AND status = 'archived' AND changed_by = 'system' GROUP BY 1
), forgotten AS (
    SELECT deleted_at::date AS day, count(*) AS made
    FROM state.memories WHERE deleted_at >= current_date - 6 GROUP BY 1
), begun AS (
    SELECT started_at::date AS day, count(*) AS made
    FROM state.conversations WHERE started_at >= current_date - 6 GROUP BY 1
), met AS (
    SELECT created_at::date AS day, count(*) AS made
    FROM state.entities WHERE created_at >= current_date - 6 GROUP BY 1
)
SELECT
    day,
    coalesce(retained.made, 0) AS retained_count,
    coalesce(faded.made, 0) AS archived_count,
    coalesce(forgotten.made, 0) AS forgotten_count,
    coalesce(begun.made, 0) AS conversation_count,
    coalesce(met.made, 0) AS entity_count
FROM days
LEFT JOIN retained USING (day)
LEFT JOIN faded USING (day)
LEFT JOIN forgotten USING (day)
LEFT JOIN begun USING (day)
LEFT JOIN met USING (day);
COMMENT ON VIEW traces.growth_7d IS 'What came and went on each of the last seven days (of UTC).';
GRANT SELECT ON traces.growth_7d TO mnemic_app;
