-- The part of settle_jobs for attempts that did not end their job: it failed and will be retried, or it was handed
-- back without having failed. One that is handed back with `parked_until` waits until then. Called only by settle_jobs.
CREATE OR REPLACE FUNCTION mnemic.requeue_jobs(holder text, outcomes jsonb) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    WITH given AS MATERIALIZED (
        SELECT * FROM jsonb_to_recordset(outcomes) AS given (
            tenant_id uuid, job_id uuid, claim int, outcome text, error jsonb, progress jsonb, parked_until timestamptz
        ) WHERE given.outcome IN ('failed', 'handed_back')
    ),
    held AS (
        SELECT jobs.*, given.outcome, given.error, given.progress AS last_progress,
            CASE WHEN NOT jobs.cancel_requested THEN given.parked_until END AS parked_until
        FROM queue.jobs JOIN given ON jobs.tenant_id = given.tenant_id AND jobs.job_id = given.job_id
        WHERE jobs.state = 'running' AND jobs.worker = holder AND jobs.claims = given.claim
        FOR UPDATE OF jobs
    ),
    noted AS (
        INSERT INTO queue.attempts (tenant_id, job_id, claim, owner, outcome, error, worker, started_at)
        SELECT held.tenant_id, held.job_id, held.claims, held.owner, held.outcome, held.error, held.worker, held.started_at
        FROM held
    )
    UPDATE queue.jobs
    SET worker = NULL, started_at = NULL, progress = coalesce(held.last_progress, held.progress),
        state = CASE WHEN held.outcome = 'failed' OR held.parked_until IS NOT NULL THEN 'scheduled' ELSE 'waiting' END,
        attempts = held.attempts - CASE held.outcome WHEN 'failed' THEN 0 ELSE 1 END,
        run_at = CASE held.outcome WHEN 'failed' THEN clock_timestamp() + mnemic.retry_delay(held.attempts)
                 ELSE coalesce(held.parked_until, held.run_at) END
    FROM held
    WHERE jobs.tenant_id = held.tenant_id AND jobs.job_id = held.job_id;
END
$$;
REVOKE ALL ON FUNCTION mnemic.requeue_jobs(text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mnemic.requeue_jobs(text, jsonb) TO mnemic_definer;
