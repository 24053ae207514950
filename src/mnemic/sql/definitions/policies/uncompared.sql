-- Policies of queue.uncompared.

-- As with the inbox of events: only the trigger below writes as mnemic_definer, for a row that has just passed the policy of
-- its own table.
DROP POLICY IF EXISTS told_by_triggers ON queue.uncompared;
CREATE POLICY told_by_triggers ON queue.uncompared FOR INSERT TO mnemic_definer WITH CHECK (true);
