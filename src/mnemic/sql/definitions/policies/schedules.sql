-- needs: schedules/may_run_schedules
-- Policies of queue.schedules.

DROP POLICY IF EXISTS run_schedules ON queue.schedules;
CREATE POLICY run_schedules ON queue.schedules TO mnemic_definer USING ((SELECT mnemic.may_run_schedules()));

DROP POLICY IF EXISTS default_schedules ON queue.schedules;
CREATE POLICY default_schedules ON queue.schedules FOR INSERT TO mnemic_definer WITH CHECK (true);
