-- Policies of queue.event_logs beside `same_tenant`, which mnemic.protect() creates.

-- For webhooks/tenants_with_undelivered_events.sql.
DROP POLICY IF EXISTS webhook_delivery ON queue.event_logs;
CREATE POLICY webhook_delivery ON queue.event_logs FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified_claim('working')) = 'queue');

-- For jobs/queue_metrics.sql.
DROP POLICY IF EXISTS metrics ON queue.event_logs;
CREATE POLICY metrics ON queue.event_logs FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified_claim('working')) = 'queue');
