-- Adds a row to the memory log; if its day has no partition yet, creates that one and a week ahead first. Runs
-- with the caller's privileges. The inner block costs a subtransaction, a few microseconds, and keeps the first
-- writers of a day from seeing an error.
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
        -- "No partition for this row", or a real error in the row, which the second attempt reports.
        PERFORM mnemic.make_log_partitions((entry.logged_at AT TIME ZONE 'UTC')::date, 1 + days_made_ahead);
        INSERT INTO traces.memory_log VALUES (entry.*);
    END;
END
$$;
