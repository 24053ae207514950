-- Policies of queue.finished_jobs.

DROP POLICY IF EXISTS workers ON queue.finished_jobs;
CREATE POLICY workers ON queue.finished_jobs TO mnemic_definer USING (true);
