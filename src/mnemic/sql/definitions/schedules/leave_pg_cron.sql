-- Leaves ticking to the workers again; returns whether pg_cron had been told.
CREATE OR REPLACE FUNCTION mnemic.leave_pg_cron() RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    told bigint;
BEGIN
    DELETE FROM mnemic.pg_cron_entry RETURNING cron_job_id INTO told;
    IF told IS NULL THEN
        RETURN false;
    END IF;
    IF to_regproc('cron.unschedule') IS NOT NULL THEN
        PERFORM cron.unschedule(told);
    END IF;
    RETURN true;
END
$$;
REVOKE ALL ON FUNCTION mnemic.leave_pg_cron() FROM PUBLIC;
