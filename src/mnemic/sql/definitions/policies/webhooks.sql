-- Policies of queue.webhooks beside `same_tenant`, which mnemic.protect() creates.

-- For webhooks/tenants_with_undelivered_events.sql.
DROP POLICY IF EXISTS webhook_delivery ON queue.webhooks;
CREATE POLICY webhook_delivery ON queue.webhooks FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified_claim('working')) = 'queue');
