-- Policies of queue.event_consumers beside `same_tenant`, which mnemic.protect() creates.

-- For jobs/queue_metrics.sql.
DROP POLICY IF EXISTS metrics ON queue.event_consumers;
CREATE POLICY metrics ON queue.event_consumers FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified_claim('working')) = 'queue');
