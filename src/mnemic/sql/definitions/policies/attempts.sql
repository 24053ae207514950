-- Policies of queue.attempts beside `same_tenant`, which mnemic.protect() creates.

-- The functions of workers verify their caller once, not in every statement (docs/adr/0017). Those of tenants filter by
-- the verified tenant. Nobody can act as mnemic_definer.
DROP POLICY IF EXISTS workers ON queue.attempts;
CREATE POLICY workers ON queue.attempts TO mnemic_definer USING (true);
