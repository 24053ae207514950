-- Ends attempts at jobs, many at once. Each of `outcomes` has tenant_id, job_id, claim, outcome (done, failed,
-- cancelled, handed_back) and optionally result, error, progress, is_final (no attempt after this failure), parked_until
-- (when a job that is handed back runs again). Jobs that the worker no longer holds, by its name and claim, are skipped:
-- they were requeued. Called only by settle_and_claim_jobs.
CREATE OR REPLACE FUNCTION mnemic.settle_jobs(holder text, outcomes jsonb) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    ended bigint;
BEGIN
    WITH given AS MATERIALIZED (
        SELECT * FROM jsonb_to_recordset(outcomes) AS given (
            tenant_id uuid, job_id uuid, claim int, outcome text, result jsonb, error jsonb, progress jsonb,
            is_final boolean
        ) WHERE given.outcome <> 'handed_back'
    ),
    gone AS (
        DELETE FROM queue.jobs USING given
        -- Only running jobs have a worker. A condition on the state would use the index of running jobs, which is
        -- full of dead entries.
        WHERE jobs.tenant_id = given.tenant_id AND jobs.job_id = given.job_id
          AND jobs.worker = holder AND jobs.claims = given.claim
          AND (given.outcome <> 'failed' OR given.is_final OR jobs.attempts >= jobs.max_attempts OR jobs.cancel_requested)
        RETURNING jobs.*, given.outcome, given.result, given.error, given.progress AS last_progress
    )
    INSERT INTO queue.finished_jobs (
        tenant_id, job_id, owner, type, payload, priority, run_at, key, state, attempts, max_attempts, claims,
        progress, result, error, outcome, worker, started_at, created_at
    )
    SELECT
        gone.tenant_id, gone.job_id, gone.owner, gone.type, gone.payload, gone.priority, gone.run_at, gone.key,
        CASE WHEN gone.outcome = 'done' THEN 'done'
             WHEN gone.outcome = 'failed' AND NOT gone.cancel_requested THEN 'dead' ELSE 'cancelled' END,
        gone.attempts, gone.max_attempts, gone.claims, coalesce(gone.last_progress, gone.progress), gone.result,
        gone.error, gone.outcome, gone.worker, gone.started_at, gone.created_at
    FROM gone;
    GET DIAGNOSTICS ended = ROW_COUNT;
    IF ended < jsonb_array_length(outcomes) THEN
        PERFORM mnemic.requeue_jobs(holder, outcomes);
    END IF;
END
$$;
REVOKE ALL ON FUNCTION mnemic.settle_jobs(text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mnemic.settle_jobs(text, jsonb) TO mnemic_definer;
