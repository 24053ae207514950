-- Unfinished and finished jobs. Runs with the caller's privileges, so that row-level security applies. The error of an unfinished
-- job is that of its last attempt.
CREATE OR REPLACE VIEW queue.all_jobs WITH (security_invoker = true) AS
SELECT
    tenant_id, job_id, owner, type, payload, priority, run_at, key, state, attempts, max_attempts, claims, progress,
    cancel_requested, NULL::jsonb AS result,
    (
        SELECT attempts.error FROM queue.attempts
        WHERE attempts.tenant_id = jobs.tenant_id AND attempts.job_id = jobs.job_id
        ORDER BY attempts.claim DESC LIMIT 1
    ) AS error,
    worker, started_at, created_at, NULL::timestamptz AS finished_at
FROM queue.jobs
UNION ALL
SELECT
    tenant_id, job_id, owner, type, payload, priority, run_at, key, state, attempts, max_attempts, claims, progress,
    state = 'cancelled', result, error, worker, started_at, created_at, finished_at
FROM queue.finished_jobs;
GRANT SELECT ON queue.all_jobs TO mnemic_app;
