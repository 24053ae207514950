-- Policies of queue.event_inbox beside `same_tenant`, which mnemic.protect() creates.

-- Only triggers insert, for a row that has just passed the policy of its own table, so there is nothing left to check.
-- Changes by an administrator, who proves no tenant, are published as well.
DROP POLICY IF EXISTS written_by_triggers ON queue.event_inbox;
CREATE POLICY written_by_triggers ON queue.event_inbox FOR INSERT TO mnemic_definer WITH CHECK (true);

-- For webhooks/tenants_with_undelivered_events.sql.
DROP POLICY IF EXISTS webhook_delivery ON queue.event_inbox;
CREATE POLICY webhook_delivery ON queue.event_inbox FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified_claim('working')) = 'queue');

-- For jobs/queue_metrics.sql.
DROP POLICY IF EXISTS metrics ON queue.event_inbox;
CREATE POLICY metrics ON queue.event_inbox FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified_claim('working')) = 'queue');
