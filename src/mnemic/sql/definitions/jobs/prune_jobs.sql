-- Deletes jobs that ended more than `keep_days` days ago with their attempts and keys, at most `most`, so that it
-- never runs long. Dead letters of that age are deleted too. Returns how many jobs were deleted.
CREATE OR REPLACE FUNCTION mnemic.prune_jobs(keep_days int, most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    kept_since CONSTANT timestamptz := mnemic.retention_time() - make_interval(days => keep_days);
    pruned bigint;
BEGIN
    PERFORM mnemic.require_worker_proof();
    IF keep_days IS NULL OR keep_days < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'finished jobs are kept for at least 1 day';
    END IF;
    WITH old AS (
        SELECT finished_jobs.tenant_id, finished_jobs.job_id FROM queue.finished_jobs
        WHERE finished_jobs.finished_at < kept_since
        LIMIT most FOR UPDATE SKIP LOCKED
    ),
    gone AS (
        DELETE FROM queue.finished_jobs USING old
        WHERE finished_jobs.tenant_id = old.tenant_id AND finished_jobs.job_id = old.job_id
        RETURNING finished_jobs.tenant_id, finished_jobs.job_id, finished_jobs.type, finished_jobs.key
    ),
    attempts_gone AS (
        DELETE FROM queue.attempts USING gone
        WHERE attempts.tenant_id = gone.tenant_id AND attempts.job_id = gone.job_id
    ),
    keys_gone AS (
        DELETE FROM queue.job_keys USING gone
        WHERE job_keys.tenant_id = gone.tenant_id AND job_keys.type = gone.type AND job_keys.key = gone.key
          AND job_keys.job_id = gone.job_id
    )
    SELECT count(*) INTO pruned FROM gone;
    RETURN pruned;
END
$$;
CALL mnemic.run_as_definer('mnemic.prune_jobs(int, int)');
