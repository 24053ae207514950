-- Lets the workers run the schedules again; returns whether pg_cron had an entry.
CREATE OR REPLACE FUNCTION mnemic.leave_pg_cron() RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    entry_id bigint;
BEGIN
    DELETE FROM mnemic.pg_cron_entry RETURNING cron_job_id INTO entry_id;
    IF entry_id IS NULL THEN
        RETURN false;
    END IF;
    IF to_regproc('cron.unschedule') IS NOT NULL THEN
        PERFORM cron.unschedule(entry_id);
    END IF;
    RETURN true;
END
$$;
REVOKE ALL ON FUNCTION mnemic.leave_pg_cron() FROM PUBLIC;
