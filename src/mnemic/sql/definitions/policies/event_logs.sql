-- Policies of queue.event_logs.

DROP POLICY IF EXISTS webhook_delivery ON queue.event_logs;
CREATE POLICY webhook_delivery ON queue.event_logs FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified_claim('working')) = 'queue');

DROP POLICY IF EXISTS metrics ON queue.event_logs;
CREATE POLICY metrics ON queue.event_logs FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified_claim('working')) = 'queue');
