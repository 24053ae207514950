-- Creates the missing partitions of `first_day` and the following days and returns how many. It waits only for
-- another session that does the same.
CREATE OR REPLACE FUNCTION mnemic.make_log_partitions(first_day date, days int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
DECLARE
    -- Limits what a hostile caller can create.
    farthest_days CONSTANT int := 400;
    made int := 0;
BEGIN
    IF mnemic.current_tenant() IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    IF first_day < current_date - farthest_days OR first_day + days > current_date + farthest_days THEN
        RAISE datetime_field_overflow USING MESSAGE =
            format('the memory log keeps days within %s days of today', farthest_days);
    END IF;
    LOCK TABLE traces.memory_log IN SHARE UPDATE EXCLUSIVE MODE;
    FOR ahead IN 0 .. days - 1 LOOP
        made := made + mnemic.create_log_partition(first_day + ahead)::int;
    END LOOP;
    RETURN made;
END
$$;
CALL mnemic.run_as_definer('mnemic.make_log_partitions(date, int)');
