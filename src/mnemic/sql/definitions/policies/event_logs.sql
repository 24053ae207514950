-- Policies of queue.event_logs.

DROP POLICY IF EXISTS serving_webhooks ON queue.event_logs;
CREATE POLICY serving_webhooks ON queue.event_logs FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified('working')) = 'queue');

DROP POLICY IF EXISTS measuring ON queue.event_logs;
CREATE POLICY measuring ON queue.event_logs FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified('working')) = 'queue');
