-- Policies of queue.deduplication_backlog.

-- As with the inbox of events: only the trigger below writes as mnemic_definer, for a row that has just passed the policy of
-- its own table.
DROP POLICY IF EXISTS written_by_triggers ON queue.deduplication_backlog;
CREATE POLICY written_by_triggers ON queue.deduplication_backlog FOR INSERT TO mnemic_definer WITH CHECK (true);
