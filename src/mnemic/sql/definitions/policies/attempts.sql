-- Policies of queue.attempts.

DROP POLICY IF EXISTS workers ON queue.attempts;
CREATE POLICY workers ON queue.attempts TO mnemic_definer USING (true);
