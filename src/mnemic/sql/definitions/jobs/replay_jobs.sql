-- Makes dead jobs of the verified tenant wait again with their attempt counts reset. Their last attempts are kept in
-- queue.attempts. Returns how many of the given jobs were dead.
CREATE OR REPLACE FUNCTION mnemic.replay_jobs(replayed uuid[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    waiting bigint;
BEGIN
    WITH dead AS (
        DELETE FROM queue.finished_jobs
        WHERE finished_jobs.tenant_id = verified_tenant AND finished_jobs.job_id = ANY (replayed)
          AND finished_jobs.state = 'dead'
        RETURNING finished_jobs.*
    ),
    kept AS (
        INSERT INTO queue.attempts (tenant_id, job_id, claim, owner, outcome, error, worker, started_at, ended_at)
        SELECT
            dead.tenant_id, dead.job_id, dead.claims, dead.owner, dead.outcome, dead.error, dead.worker,
            dead.started_at, dead.finished_at
        FROM dead WHERE dead.outcome IS NOT NULL
    )
    INSERT INTO queue.jobs (
        tenant_id, job_id, owner, type, payload, priority, key, max_attempts, claims, progress, created_at
    )
    SELECT
        dead.tenant_id, dead.job_id, dead.owner, dead.type, dead.payload, dead.priority, dead.key, dead.max_attempts,
        dead.claims, dead.progress, dead.created_at
    FROM dead;
    GET DIAGNOSTICS waiting = ROW_COUNT;
    RETURN waiting;
END
$$;
CALL mnemic.run_as_definer('mnemic.replay_jobs(uuid[])');
