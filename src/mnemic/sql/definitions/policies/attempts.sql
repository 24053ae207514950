-- Policies of queue.attempts.

DROP POLICY IF EXISTS working ON queue.attempts;
CREATE POLICY working ON queue.attempts TO mnemic_definer USING (true);
