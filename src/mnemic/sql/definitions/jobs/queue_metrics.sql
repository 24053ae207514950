-- Metrics of jobs, workers, schedules and events over all tenants, for Prometheus: one row per value with its name
-- and labels. Job types are the only texts in it, and only the `most_types` most frequent ones; the rest is
-- `(others)`. No tenant and no owner is named. Needs a proof of `working`.
CREATE OR REPLACE FUNCTION mnemic.queue_metrics(most_types int DEFAULT 100)
RETURNS TABLE (metric text, labels jsonb, value double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Run times and outcomes of the last hour: long enough for a sample, short enough to be current.
    window_start CONSTANT timestamptz := now() - interval '1 hour';
BEGIN
    PERFORM mnemic.require_worker_proof();
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
    SELECT 'consolidation_lag_s', '{}', coalesce(max(
        extract(epoch FROM clock_timestamp() - coalesce(schedules.last_run_at, schedules.created_at))
    ), 0)::double precision
    FROM queue.schedules WHERE schedules.enabled AND schedules.job_type = 'mind.consolidate'
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
CALL mnemic.run_as_definer('mnemic.queue_metrics(int)');
