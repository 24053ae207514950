-- Policies of queue.event_consumers.

DROP POLICY IF EXISTS metrics ON queue.event_consumers;
CREATE POLICY metrics ON queue.event_consumers FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified_claim('working')) = 'queue');
