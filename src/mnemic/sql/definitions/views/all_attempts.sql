-- Attempts of jobs: earlier ones from queue.attempts, the last one from queue.finished_jobs. Views run with the
-- caller's privileges, so that row-level security applies.
CREATE OR REPLACE VIEW queue.all_attempts WITH (security_invoker = true) AS
SELECT tenant_id, job_id, claim, outcome, error, worker, started_at, ended_at FROM queue.attempts
UNION ALL
SELECT tenant_id, job_id, claims, outcome, error, worker, started_at, finished_at
FROM queue.finished_jobs
WHERE outcome IS NOT NULL;
GRANT SELECT ON queue.all_attempts TO mnemic_app;
