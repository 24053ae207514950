-- Policies of queue.finished_jobs.

DROP POLICY IF EXISTS working ON queue.finished_jobs;
CREATE POLICY working ON queue.finished_jobs TO mnemic_definer USING (true);
