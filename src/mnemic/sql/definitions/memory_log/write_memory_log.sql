-- Adds a row; if its day has no partition yet, makes that one and a week ahead first. Runs with the
-- rights of the caller. The inner block costs a subtransaction, a few microseconds; it is what keeps
-- the day's first writers from ever seeing an error.
CREATE OR REPLACE FUNCTION mnemic.write_memory_log(entry traces.memory_log) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    days_made_ahead CONSTANT int := 7;
BEGIN
    BEGIN
        INSERT INTO traces.memory_log VALUES (entry.*);
    EXCEPTION WHEN check_violation THEN
        -- "No partition for this row", or a real fault in it, which the second try then reports.
        PERFORM mnemic.make_log_partitions((entry.logged_at AT TIME ZONE 'UTC')::date, 1 + days_made_ahead);
        INSERT INTO traces.memory_log VALUES (entry.*);
    END;
END
$$;
