-- Has pg_cron tick: one entry for all tenants. For an administrator, in a database where pg_cron is installed;
-- doing it twice changes nothing. Returns the number that the entry has with pg_cron.
CREATE OR REPLACE FUNCTION mnemic.use_pg_cron() RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    told bigint;
    -- Versions from 1.5 on count in seconds, too.
    counts_seconds boolean := coalesce(
        (SELECT string_to_array(extversion, '.')::int[] >= ARRAY[1, 5] FROM pg_extension WHERE extname = 'pg_cron'), false
    );
BEGIN
    IF to_regproc('cron.schedule') IS NULL THEN
        RAISE undefined_object USING MESSAGE = 'pg_cron is not installed in this database';
    END IF;
    told := cron.schedule(
        'mnemic schedules',
        CASE WHEN counts_seconds THEN '10 seconds' ELSE '* * * * *' END,
        'SELECT mnemic.run_due_schedules()'
    );
    INSERT INTO mnemic.pg_cron_entry (cron_job_id) VALUES (told)
    ON CONFLICT (only_row) DO UPDATE SET cron_job_id = excluded.cron_job_id, made_at = now();
    RETURN told;
END
$$;
REVOKE ALL ON FUNCTION mnemic.use_pg_cron() FROM PUBLIC;
