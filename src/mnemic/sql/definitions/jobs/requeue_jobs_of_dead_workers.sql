-- Failure recovery: running jobs whose worker is no longer registered count as crashed. They wait again at once,
-- or are dead after the last attempt. Returns how many there were.
CREATE OR REPLACE FUNCTION mnemic.requeue_jobs_of_dead_workers() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    requeued bigint;
    lost queue.jobs;
    died jsonb;
BEGIN
    PERFORM mnemic.require_worker_proof();
    requeued := 0;
    FOR lost IN
        SELECT * FROM queue.jobs
        WHERE jobs.state = 'running'
          AND NOT EXISTS (SELECT FROM mnemic.workers WHERE workers.worker = jobs.worker)
        FOR UPDATE SKIP LOCKED
    LOOP
        died := jsonb_build_object(
            'type', 'WorkerDied', 'message', format('its worker %s died', lost.worker), 'traceback', ''
        );
        IF lost.attempts >= lost.max_attempts OR lost.cancel_requested THEN
            DELETE FROM queue.jobs WHERE jobs.tenant_id = lost.tenant_id AND jobs.job_id = lost.job_id;
            INSERT INTO queue.finished_jobs (
                tenant_id, job_id, owner, type, payload, priority, run_at, key, state, attempts, max_attempts, claims,
                progress, error, outcome, worker, started_at, created_at
            ) VALUES (
                lost.tenant_id, lost.job_id, lost.owner, lost.type, lost.payload, lost.priority, lost.run_at, lost.key,
                CASE WHEN lost.cancel_requested THEN 'cancelled' ELSE 'dead' END, lost.attempts, lost.max_attempts,
                lost.claims, lost.progress, died || jsonb_build_object('message', format(
                    'its worker died in the last of %s attempts; the worker was %s', lost.attempts, lost.worker
                )), 'crashed', lost.worker, lost.started_at, lost.created_at
            );
        ELSE
            INSERT INTO queue.attempts (tenant_id, job_id, claim, owner, outcome, error, worker, started_at)
            VALUES (lost.tenant_id, lost.job_id, lost.claims, lost.owner, 'crashed', died, lost.worker, lost.started_at);
            UPDATE queue.jobs SET state = 'waiting', worker = NULL, started_at = NULL
            WHERE jobs.tenant_id = lost.tenant_id AND jobs.job_id = lost.job_id;
        END IF;
        requeued := requeued + 1;
    END LOOP;
    IF requeued > 0 THEN
        PERFORM mnemic.request_wakeup('jobs');
    END IF;
    RETURN requeued;
END
$$;
CALL mnemic.run_as_definer('mnemic.requeue_jobs_of_dead_workers()');
