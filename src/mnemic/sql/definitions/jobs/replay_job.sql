-- Makes a dead job of the verified tenant wait again with its attempt count reset. Its last attempt is kept in
-- queue.attempts. Returns whether there was such a dead job.
CREATE OR REPLACE FUNCTION mnemic.replay_job(replayed uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    dead queue.finished_jobs;
BEGIN
    DELETE FROM queue.finished_jobs
    WHERE finished_jobs.tenant_id = verified_tenant AND finished_jobs.job_id = replayed
      AND finished_jobs.state = 'dead'
    RETURNING * INTO dead;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF dead.outcome IS NOT NULL THEN
        INSERT INTO queue.attempts (tenant_id, job_id, claim, owner, outcome, error, worker, started_at, ended_at)
        VALUES (dead.tenant_id, dead.job_id, dead.claims, dead.owner, dead.outcome, dead.error, dead.worker,
            dead.started_at, dead.finished_at);
    END IF;
    INSERT INTO queue.jobs (
        tenant_id, job_id, owner, type, payload, priority, key, max_attempts, claims, progress, created_at
    ) VALUES (
        dead.tenant_id, dead.job_id, dead.owner, dead.type, dead.payload, dead.priority, dead.key, dead.max_attempts,
        dead.claims, dead.progress, dead.created_at
    );
    RETURN true;
END
$$;
CALL mnemic.run_as_definer('mnemic.replay_job(uuid)');
