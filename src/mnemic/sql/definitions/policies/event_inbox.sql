-- Policies of queue.event_inbox.

-- Only the triggers below write it, for a row that has just passed the policy of its own table. So nothing
-- is left to be checked here, and what an administrator writes, who proves no tenant, is told as well.
DROP POLICY IF EXISTS told_by_triggers ON queue.event_inbox;
CREATE POLICY told_by_triggers ON queue.event_inbox FOR INSERT TO mnemic_definer WITH CHECK (true);

DROP POLICY IF EXISTS serving_webhooks ON queue.event_inbox;
CREATE POLICY serving_webhooks ON queue.event_inbox FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified('working')) = 'queue');

-- What the machinery of all tenants is doing, for Prometheus: one row for each value, named and labelled. Types of
-- jobs are the only words in it, and of those only the `most_types` with the most jobs; the rest is `(others)`. No
-- tenant and no owner. For a worker, or whoever else has proved the purpose `working`.
DROP POLICY IF EXISTS measuring ON queue.event_inbox;
CREATE POLICY measuring ON queue.event_inbox FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified('working')) = 'queue');
