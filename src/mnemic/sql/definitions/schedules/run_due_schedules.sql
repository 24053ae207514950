-- Enqueues the jobs of all due schedules of all tenants, at most `most`; returns how many. Any number of sessions
-- may call it at once: rows that another one has locked are skipped.
CREATE OR REPLACE FUNCTION mnemic.run_due_schedules(moment timestamptz DEFAULT clock_timestamp(), most int DEFAULT 1000) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Workers step in when pg_cron, which runs at least every minute, is this late.
    delay_beside_pg_cron CONSTANT interval := '90 seconds';
    -- A job that has waited this long counts as one that no worker processes.
    long_wait CONSTANT interval := '1 hour';
    -- Two concurrent sessions may read the clock in another order than they lock the row.
    tolerated_step_back CONSTANT interval := '1 second';
    delay interval := '0';
    due queue.schedules;
    due_time timestamptz;
    added uuid;
    enqueued int := 0;
BEGIN
    PERFORM set_config('mnemic.running_schedules', 'on', true);
    IF mnemic.may_run_schedules() IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'running schedules needs a proof of working';
    END IF;
    IF mnemic.verified_claim('working') IS NOT NULL AND EXISTS (SELECT FROM mnemic.pg_cron_entry) THEN
        delay := delay_beside_pg_cron;
    END IF;
    FOR due IN
        SELECT * FROM queue.schedules
        WHERE enabled AND (next_run_at <= moment - delay OR planned_at > moment + tolerated_step_back)
        ORDER BY next_run_at
        LIMIT most
        FOR UPDATE SKIP LOCKED
    LOOP
        BEGIN
            added := NULL;
            due_time := mnemic.schedule_time(due, moment, backward => true);
            -- If the clock went back, skip times from before the schedule was created or changed.
            IF (due.next_run_at <= moment OR due_time >= due.updated_at) AND NOT EXISTS (
                SELECT FROM queue.jobs
                WHERE tenant_id = due.tenant_id AND job_id = due.last_job_id AND (
                    (state = 'waiting' AND run_at < clock_timestamp() - long_wait)
                    -- A spend cap has parked it: another one would be parked, too.
                    OR (state = 'scheduled' AND claims > attempts AND run_at > clock_timestamp())
                )
            ) THEN
                added := mnemic.enqueue_scheduled_job(due, coalesce(due_time, due.next_run_at));
            END IF;
            IF added IS NOT NULL THEN
                due.last_job_id := added;
                due.last_run_at := moment;
                enqueued := enqueued + 1;
            END IF;
            UPDATE queue.schedules
            SET next_run_at = mnemic.schedule_time(due, moment), planned_at = moment, last_run_at = due.last_run_at,
                last_job_id = due.last_job_id
            WHERE tenant_id = due.tenant_id AND name = due.name;
        EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN
            -- It can never run as it is. Pause it, so that it does not block the others.
            UPDATE queue.schedules SET enabled = false, problem = left(SQLERRM, 1024)
            WHERE tenant_id = due.tenant_id AND name = due.name;
        END;
    END LOOP;
    PERFORM set_config('mnemic.running_schedules', '', true);
    RETURN enqueued;
END
$$;
CALL mnemic.run_as_definer('mnemic.run_due_schedules(timestamptz, int)');
