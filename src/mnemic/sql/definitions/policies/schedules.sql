-- needs: schedules/may_tick
-- Policies of queue.schedules.

DROP POLICY IF EXISTS ticking ON queue.schedules;
CREATE POLICY ticking ON queue.schedules TO mnemic_definer USING ((SELECT mnemic.may_tick()));
