-- Tables whose old name did not say what they hold.

ALTER TABLE queue.uncompared RENAME TO deduplication_backlog;
ALTER TABLE queue.deduplication_backlog RENAME CONSTRAINT uncompared_pkey TO deduplication_backlog_pkey;
COMMENT ON TABLE queue.deduplication_backlog IS 'Memories that were not yet compared with others of their owner.';
-- A database of the version before the baseline has it; the definition of today has another name.
DROP POLICY IF EXISTS told_by_triggers ON queue.deduplication_backlog;
