-- needs: schedules/may_run_schedules
-- Policies of queue.schedules beside `same_tenant`, which mnemic.protect() creates.

-- For run_due_schedules, which serves all tenants.
DROP POLICY IF EXISTS run_schedules ON queue.schedules;
CREATE POLICY run_schedules ON queue.schedules TO mnemic_definer USING ((SELECT mnemic.may_run_schedules()));
