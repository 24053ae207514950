-- needs: schedules/may_tick
-- Policies of queue.schedules.

DROP POLICY IF EXISTS ticking ON queue.schedules;
CREATE POLICY ticking ON queue.schedules TO mnemic_definer USING ((SELECT mnemic.may_tick()));

DROP POLICY IF EXISTS given_at_birth ON queue.schedules;
CREATE POLICY given_at_birth ON queue.schedules FOR INSERT TO mnemic_definer WITH CHECK (true);
