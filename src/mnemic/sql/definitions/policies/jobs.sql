-- Policies of queue.jobs.

DROP POLICY IF EXISTS working ON queue.jobs;
CREATE POLICY working ON queue.jobs TO mnemic_definer USING (true);
