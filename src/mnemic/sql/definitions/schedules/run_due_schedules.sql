-- Enqueues the jobs of all schedules that are due, of all tenants, at most `most`; returns how many there were.
-- Any number may call it at once: a row that somebody else holds is being ticked by them.
CREATE OR REPLACE FUNCTION mnemic.run_due_schedules(moment timestamptz DEFAULT clock_timestamp(), most int DEFAULT 1000) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- How late pg_cron, which ticks every minute at least, has to be for a worker to step in.
    patience_with_pg_cron CONSTANT interval := '90 seconds';
    -- How long a job waits before it is taken for one that nobody works on.
    long_wait CONSTANT interval := '1 hour';
    -- Two who tick at once may have looked at the clock in another order than they hold the row.
    tolerated_step_back CONSTANT interval := '1 second';
    patience interval := '0';
    due queue.schedules;
    tick timestamptz;
    added uuid;
    ticked int := 0;
BEGIN
    PERFORM set_config('mnemic.ticking', 'on', true);
    IF mnemic.may_tick() IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'ticking needs a proof of working';
    END IF;
    IF mnemic.verified('working') IS NOT NULL AND EXISTS (SELECT FROM mnemic.pg_cron_entry) THEN
        patience := patience_with_pg_cron;
    END IF;
    FOR due IN
        SELECT * FROM queue.schedules
        WHERE enabled AND (next_run_at <= moment - patience OR planned_at > moment + tolerated_step_back)
        ORDER BY next_run_at
        LIMIT most
        FOR UPDATE SKIP LOCKED
    LOOP
        BEGIN
            added := NULL;
            tick := mnemic.schedule_tick(due, moment, backward => true);
            -- If only the clock went back, a tick from before the schedule was made or changed is none of its own.
            IF (due.next_run_at <= moment OR tick >= due.updated_at) AND NOT EXISTS (
                SELECT FROM queue.jobs
                WHERE tenant_id = due.tenant_id AND job_id = due.last_job_id AND state = 'waiting'
                  AND run_at < clock_timestamp() - long_wait
            ) THEN
                added := mnemic.add_tick(due, coalesce(tick, due.next_run_at));
            END IF;
            IF added IS NOT NULL THEN
                due.last_job_id := added;
                due.last_run_at := moment;
                ticked := ticked + 1;
            END IF;
            UPDATE queue.schedules
            SET next_run_at = mnemic.schedule_tick(due, moment), planned_at = moment, last_run_at = due.last_run_at,
                last_job_id = due.last_job_id
            WHERE tenant_id = due.tenant_id AND name = due.name;
        EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN
            -- It can never tick again as it is, and must not keep the others from it.
            UPDATE queue.schedules SET enabled = false, problem = left(SQLERRM, 1024)
            WHERE tenant_id = due.tenant_id AND name = due.name;
        END;
    END LOOP;
    PERFORM set_config('mnemic.ticking', '', true);
    RETURN ticked;
END
$$;
CALL mnemic.seal('mnemic.run_due_schedules(timestamptz, int)');
