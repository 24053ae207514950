-- needs: schedules/may_run_schedules
-- Policies of queue.job_keys beside `same_tenant`, which mnemic.protect() creates.

-- For prune_jobs, which deletes the keys of old jobs of all tenants.
DROP POLICY IF EXISTS workers ON queue.job_keys;
CREATE POLICY workers ON queue.job_keys TO mnemic_definer USING ((SELECT mnemic.verified_claim('working')) = 'queue');

-- For run_due_schedules, which adds jobs for all tenants.
DROP POLICY IF EXISTS run_schedules ON queue.job_keys;
CREATE POLICY run_schedules ON queue.job_keys TO mnemic_definer USING ((SELECT mnemic.may_run_schedules()));
