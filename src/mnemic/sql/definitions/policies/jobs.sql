-- Policies of queue.jobs.

DROP POLICY IF EXISTS workers ON queue.jobs;
CREATE POLICY workers ON queue.jobs TO mnemic_definer USING (true);
