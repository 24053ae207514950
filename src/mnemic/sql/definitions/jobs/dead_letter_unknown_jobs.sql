-- Moves jobs to the dead letters that have waited longer than `waited_max` because no worker knows their type, at
-- most `most`; returns how many.
CREATE OR REPLACE FUNCTION mnemic.dead_letter_unknown_jobs(waited_max interval, most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    known text[] := ARRAY(SELECT DISTINCT unnest(workers.types) FROM mnemic.workers ORDER BY 1);
    moved bigint;
BEGIN
    PERFORM mnemic.require_worker_proof();
    WITH unknown AS (
        SELECT jobs.tenant_id, jobs.job_id FROM queue.jobs
        WHERE jobs.state = 'waiting' AND jobs.type <> ALL (known) AND jobs.run_at < clock_timestamp() - waited_max
        LIMIT most FOR UPDATE SKIP LOCKED
    ),
    gone AS (
        DELETE FROM queue.jobs USING unknown
        WHERE jobs.tenant_id = unknown.tenant_id AND jobs.job_id = unknown.job_id
        RETURNING jobs.*
    )
    INSERT INTO queue.finished_jobs (
        tenant_id, job_id, owner, type, payload, priority, run_at, key, state, attempts, max_attempts, claims,
        progress, error, created_at
    )
    SELECT
        gone.tenant_id, gone.job_id, gone.owner, gone.type, gone.payload, gone.priority, gone.run_at, gone.key, 'dead',
        gone.attempts, gone.max_attempts, gone.claims, gone.progress, jsonb_build_object(
            'type', 'UnknownJobType', 'traceback', '', 'message', format(
                'no worker knew the type %s; the workers know: %s', gone.type,
                coalesce(nullif(array_to_string(known, ', '), ''), 'none')
            )
        ), gone.created_at
    FROM gone;
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
END
$$;
CALL mnemic.run_as_definer('mnemic.dead_letter_unknown_jobs(interval, int)');
