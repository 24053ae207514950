-- Policies of queue.webhooks.

-- For workers, who serve all tenants: which tenants have events that an enabled webhook has not been given yet. It
-- tells names of tenants to whoever proves the purpose `working`, and nothing to others.
DROP POLICY IF EXISTS serving_webhooks ON queue.webhooks;
CREATE POLICY serving_webhooks ON queue.webhooks FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified('working')) = 'queue');
