-- Policies of queue.jobs beside `same_tenant`, which mnemic.protect() creates.

-- A policy is evaluated by every statement, several times if the statement reads and writes: a fifth of the time of
-- settle_and_claim_jobs. So mnemic_definer sees the jobs of all tenants. Its functions verify once whether a worker or a
-- tenant calls, and for a tenant they filter by the verified tenant (docs/adr/0017). Nobody can act as that role.
DROP POLICY IF EXISTS workers ON queue.jobs;
CREATE POLICY workers ON queue.jobs TO mnemic_definer USING (true);
