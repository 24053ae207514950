-- Policies of queue.deduplication_backlog beside `same_tenant`, which mnemic.protect() creates.

-- Only publish_memory_events inserts as mnemic_definer, for a row that has just passed the policy of its own table.
DROP POLICY IF EXISTS written_by_triggers ON queue.deduplication_backlog;
CREATE POLICY written_by_triggers ON queue.deduplication_backlog FOR INSERT TO mnemic_definer WITH CHECK (true);
