-- Lets pg_cron run the schedules: one entry for all tenants. For an administrator, in a database where pg_cron is
-- installed; calling it again changes nothing. Returns pg_cron's id of the entry.
CREATE OR REPLACE FUNCTION mnemic.use_pg_cron() RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    entry_id bigint;
    -- Versions from 1.5 on support seconds.
    counts_seconds boolean := coalesce(
        (SELECT string_to_array(extversion, '.')::int[] >= ARRAY[1, 5] FROM pg_extension WHERE extname = 'pg_cron'), false
    );
BEGIN
    IF to_regproc('cron.schedule') IS NULL THEN
        RAISE undefined_object USING MESSAGE = 'pg_cron is not installed in this database';
    END IF;
    entry_id := cron.schedule(
        'mnemic schedules',
        CASE WHEN counts_seconds THEN '10 seconds' ELSE '* * * * *' END,
        'SELECT mnemic.run_due_schedules()'
    );
    INSERT INTO mnemic.pg_cron_entry (cron_job_id) VALUES (entry_id)
    ON CONFLICT (only_row) DO UPDATE SET cron_job_id = excluded.cron_job_id, made_at = now();
    RETURN entry_id;
END
$$;
REVOKE ALL ON FUNCTION mnemic.use_pg_cron() FROM PUBLIC;
