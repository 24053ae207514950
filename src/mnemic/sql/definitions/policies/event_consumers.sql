-- Policies of queue.event_consumers.

DROP POLICY IF EXISTS measuring ON queue.event_consumers;
CREATE POLICY measuring ON queue.event_consumers FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified('working')) = 'queue');
