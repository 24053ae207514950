-- A tenant at a glance: five views over what it holds, and what they showed when they were last looked at.
--
-- The views are computed when they are asked, which takes long in a large tenant. traces.snapshots keeps their
-- rows: a tenant's own job writes them anew, readers see the old ones until it commits, nobody waits. Views of
-- PostgreSQL that are materialized hold the rows of all tenants side by side, without row-level security, and are
-- refreshed for all at once (docs/adr/0016-snapshots-per-tenant.md).
--
-- They count and name nobody, so that nothing about an owner stays in them when the owner is erased.

CREATE VIEW traces.tenant_summary WITH (security_invoker = true) AS
SELECT
    counted.*,
    (SELECT count(*) FROM state.memory_versions) AS earlier_version_count,
    (SELECT count(*) FROM state.conversations WHERE archived_at IS NULL) AS conversation_count,
    (SELECT count(*) FROM state.conversations WHERE archived_at IS NOT NULL) AS archived_conversation_count,
    (SELECT count(*) FROM state.entities) AS entity_count,
    (SELECT count(*) FROM state.entity_relations) AS entity_relation_count,
    (SELECT count(*) FROM state.reference_documents) AS document_count,
    (SELECT count(*) FROM state.state_documents) AS state_document_count,
    (SELECT count(*) FROM state.near_duplicates WHERE decision = 'pending') AS pending_near_duplicate_count,
    (SELECT count(*) FROM queue.embedding_backlog) AS awaiting_embedding_count
FROM (
    SELECT
        count(DISTINCT owner) AS owner_count,
        count(*) AS memory_count,
        count(*) FILTER (WHERE status = 'active' AND deleted_at IS NULL) AS active_count,
        count(*) FILTER (WHERE status = 'pending_review' AND deleted_at IS NULL) AS pending_review_count,
        count(*) FILTER (WHERE status = 'archived' AND deleted_at IS NULL) AS archived_count,
        count(*) FILTER (WHERE status IN ('superseded', 'merged') AND deleted_at IS NULL) AS replaced_count,
        count(*) FILTER (WHERE deleted_at IS NOT NULL) AS forgotten_count,
        count(*) FILTER (WHERE anchored) AS anchored_count,
        coalesce(sum(octet_length(content)), 0)::bigint AS content_bytes
    FROM state.memories
) AS counted;
COMMENT ON VIEW traces.tenant_summary IS 'How much a tenant holds; one row.';

-- Calls that were logged: those that write unless `memory_log` is off, those that read if it says so.
CREATE VIEW traces.metrics_24h WITH (security_invoker = true) AS
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

CREATE VIEW traces.stale_active WITH (security_invoker = true) AS
SELECT
    category,
    count(*) AS active_count,
    count(*) FILTER (WHERE used_at < now() - interval '30 days') AS unused_30d_count,
    count(*) FILTER (WHERE used_at < now() - interval '90 days') AS unused_90d_count,
    count(*) FILTER (WHERE valid_to < now()) AS no_longer_valid_count,
    count(*) FILTER (WHERE expires_at < now()) AS expired_count
FROM (
    SELECT category, valid_to, expires_at, coalesce(last_retrieved_at, created_at) AS used_at
    FROM state.memories
    WHERE status = 'active' AND deleted_at IS NULL
) AS active
GROUP BY category;
COMMENT ON VIEW traces.stale_active IS 'Active memories by category, and how many of them nobody has used for long.';

CREATE VIEW traces.dead_xrefs WITH (security_invoker = true) AS
SELECT 'relationship' AS kind, count(*) AS dead_count
FROM state.memory_relationships
WHERE EXISTS (
    SELECT FROM state.memories WHERE memory_id IN (from_id, to_id) AND deleted_at IS NOT NULL
)
UNION ALL
SELECT 'successor', count(*)
FROM state.memories AS old
WHERE status IN ('superseded', 'merged') AND deleted_at IS NULL
  AND NOT EXISTS (
      SELECT FROM state.memories AS new
      WHERE new.memory_id = coalesce(old.superseded_by, old.merged_into) AND new.deleted_at IS NULL
  )
UNION ALL
SELECT 'evidence', count(*)
FROM state.memories, unnest(evidence) AS reference
WHERE evidence <> '{}' AND deleted_at IS NULL
  -- Only what looks like an id is one: evidence may also be a URL or the name of a document.
  AND CASE WHEN reference ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
      THEN NOT EXISTS (
          SELECT FROM state.memories AS cited WHERE cited.memory_id = reference::uuid AND cited.deleted_at IS NULL
      )
      ELSE false
  END
UNION ALL
SELECT 'entity fact', count(*)
FROM state.entity_facts JOIN state.memories USING (memory_id)
WHERE retired_at IS NULL AND deleted_at IS NOT NULL;
COMMENT ON VIEW traces.dead_xrefs IS 'References that lead to something forgotten or gone, by kind.';

CREATE VIEW traces.growth_7d WITH (security_invoker = true) AS
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

GRANT SELECT ON traces.tenant_summary, traces.metrics_24h, traces.stale_active, traces.dead_xrefs, traces.growth_7d
TO mnemic_app;

CREATE TABLE traces.snapshots (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    name text NOT NULL CHECK (name IN ('tenant_summary', 'metrics_24h', 'stale_active', 'dead_xrefs', 'growth_7d')),
    rows jsonb NOT NULL CHECK (jsonb_typeof(rows) = 'array'),
    taken_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, name)
);
COMMENT ON TABLE traces.snapshots IS 'What the views above showed when a tenant last looked.';
CALL mnemic.protect('traces.snapshots', 'SELECT, INSERT, UPDATE');

-- What the machinery of all tenants is doing, for Prometheus: one row for each value, named and labelled. Types of
-- jobs are the only words in it, and of those only the `most_types` with the most jobs; the rest is `(others)`. No
-- tenant and no owner. For a worker, or whoever else has proved the purpose `working`.
CREATE POLICY measuring ON queue.event_inbox FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified('working')) = 'queue');
CREATE POLICY measuring ON queue.event_logs FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified('working')) = 'queue');
CREATE POLICY measuring ON queue.event_consumers FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified('working')) = 'queue');
-- As queue.finished_jobs has one: attempts are added in the order of this time.
CREATE INDEX attempts_age ON queue.attempts USING brin (ended_at);

CREATE FUNCTION mnemic.working_metrics(most_types int DEFAULT 100)
RETURNS TABLE (metric text, labels jsonb, value double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- How far back run times and outcomes go: long enough to have some, short enough to be about now.
    window_start CONSTANT timestamptz := now() - interval '1 hour';
BEGIN
    PERFORM mnemic.require_working();
    RETURN QUERY
    WITH unfinished AS MATERIALIZED (
        SELECT
            jobs.type, jobs.state, count(*) AS job_count,
            max(extract(epoch FROM clock_timestamp() - jobs.run_at)) FILTER (WHERE jobs.state = 'waiting') AS age_s
        FROM queue.jobs GROUP BY jobs.type, jobs.state
    ),
    finished AS MATERIALIZED (
        SELECT
            jobs.type, jobs.state, count(*) AS job_count,
            percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (
                ORDER BY extract(epoch FROM jobs.finished_at - jobs.started_at)
            ) AS run_s
        FROM queue.finished_jobs AS jobs WHERE jobs.finished_at >= window_start GROUP BY jobs.type, jobs.state
    ),
    frequent AS (
        SELECT counted.type FROM (
            SELECT unfinished.type, unfinished.job_count FROM unfinished
            UNION ALL SELECT finished.type, finished.job_count FROM finished
        ) AS counted
        GROUP BY counted.type ORDER BY sum(counted.job_count) DESC, counted.type LIMIT most_types
    )
    SELECT 'jobs', jsonb_build_object('type', coalesce(frequent.type, '(others)'), 'state', unfinished.state),
        sum(unfinished.job_count)::double precision
    FROM unfinished LEFT JOIN frequent USING (type) GROUP BY 2
    UNION ALL
    SELECT 'oldest_ready_s', '{}', coalesce(max(greatest(unfinished.age_s, 0)), 0)::double precision FROM unfinished
    UNION ALL
    SELECT 'finished_1h', jsonb_build_object('type', coalesce(frequent.type, '(others)'), 'state', finished.state),
        sum(finished.job_count)::double precision
    FROM finished LEFT JOIN frequent USING (type) GROUP BY 2
    UNION ALL
    SELECT 'run_s_1h', jsonb_build_object('type', finished.type, 'quantile', quantile.name),
        finished.run_s[quantile.place]
    FROM finished JOIN frequent USING (type), (VALUES (1, '0.5'), (2, '0.95'), (3, '0.99')) AS quantile (place, name)
    WHERE finished.state = 'done'
    UNION ALL
    SELECT 'retries_1h', jsonb_build_object('outcome', attempts.outcome), count(*)::double precision
    FROM queue.attempts WHERE attempts.ended_at >= window_start GROUP BY attempts.outcome
    UNION ALL
    SELECT 'dead', '{}', count(*)::double precision FROM queue.finished_jobs AS jobs WHERE jobs.state = 'dead'
    UNION ALL
    SELECT 'workers', '{}', count(*)::double precision FROM mnemic.workers
    UNION ALL
    SELECT 'overdue_schedules', '{}', count(*)::double precision
    FROM queue.schedules WHERE schedules.enabled AND schedules.next_run_at < now() - interval '2 minutes'
    UNION ALL
    SELECT 'unsequenced_events', '{}', count(*)::double precision FROM queue.event_inbox
    UNION ALL
    SELECT 'oldest_unsequenced_s', '{}',
        coalesce(max(extract(epoch FROM clock_timestamp() - event_inbox.at)), 0)::double precision
    FROM queue.event_inbox
    UNION ALL
    SELECT 'consumer_lag', '{}', coalesce(max(event_logs.last_position - consumers."position"), 0)::double precision
    FROM queue.event_consumers AS consumers JOIN queue.event_logs USING (tenant_id);
END
$$;
CALL mnemic.seal('mnemic.working_metrics(int)');
