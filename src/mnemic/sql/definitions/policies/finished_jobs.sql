-- Policies of queue.finished_jobs beside `same_tenant`, which mnemic.protect() creates.

-- As for queue.jobs, see policies/jobs.sql.
DROP POLICY IF EXISTS workers ON queue.finished_jobs;
CREATE POLICY workers ON queue.finished_jobs TO mnemic_definer USING (true);
