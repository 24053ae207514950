-- needs: schedules/may_tick
-- Policies of queue.job_keys.

DROP POLICY IF EXISTS working ON queue.job_keys;
CREATE POLICY working ON queue.job_keys TO mnemic_definer USING ((SELECT mnemic.verified('working')) = 'queue');

DROP POLICY IF EXISTS ticking ON queue.job_keys;
CREATE POLICY ticking ON queue.job_keys TO mnemic_definer USING ((SELECT mnemic.may_tick()));
