-- Cancels a job of the verified tenant. A running job is only marked; its worker stops it. Returns the state
-- afterwards; NULL if the job has ended already or is not this tenant's.
CREATE OR REPLACE FUNCTION mnemic.cancel_job(cancelled uuid) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
BEGIN
    WITH gone AS (
        DELETE FROM queue.jobs
        WHERE jobs.tenant_id = verified_tenant AND jobs.job_id = cancelled AND jobs.state <> 'running'
        RETURNING jobs.*
    )
    INSERT INTO queue.finished_jobs (
        tenant_id, job_id, owner, type, payload, priority, run_at, key, state, attempts, max_attempts, claims,
        progress, created_at
    )
    SELECT
        gone.tenant_id, gone.job_id, gone.owner, gone.type, gone.payload, gone.priority, gone.run_at, gone.key,
        'cancelled', gone.attempts, gone.max_attempts, gone.claims, gone.progress, gone.created_at
    FROM gone;
    IF FOUND THEN
        RETURN 'cancelled';
    END IF;
    UPDATE queue.jobs SET cancel_requested = true
    WHERE jobs.tenant_id = verified_tenant AND jobs.job_id = cancelled AND jobs.state = 'running';
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    PERFORM mnemic.request_wakeup('jobs');
    RETURN 'running';
END
$$;
CALL mnemic.run_as_definer('mnemic.cancel_job(uuid)');
