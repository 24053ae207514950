-- Drops the days of the memory log that are too old, for all tenants; returns how many. For a worker.
CREATE OR REPLACE FUNCTION mnemic.drop_old_logs(keep_days int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_working();
    RETURN (SELECT count(*) FROM mnemic.drop_log_partitions(keep_days));
END
$$;
CALL mnemic.seal('mnemic.drop_old_logs(int)');
