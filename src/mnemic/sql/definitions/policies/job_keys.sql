-- needs: schedules/may_run_schedules
-- Policies of queue.job_keys.

DROP POLICY IF EXISTS workers ON queue.job_keys;
CREATE POLICY workers ON queue.job_keys TO mnemic_definer USING ((SELECT mnemic.verified_claim('working')) = 'queue');

DROP POLICY IF EXISTS run_schedules ON queue.job_keys;
CREATE POLICY run_schedules ON queue.job_keys TO mnemic_definer USING ((SELECT mnemic.may_run_schedules()));
