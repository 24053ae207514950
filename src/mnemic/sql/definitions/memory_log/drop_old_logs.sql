-- Drops old days of the memory log for all tenants and returns how many. For workers.
CREATE OR REPLACE FUNCTION mnemic.drop_old_logs(keep_days int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_worker_proof();
    RETURN (SELECT count(*) FROM mnemic.drop_log_partitions(keep_days));
END
$$;
CALL mnemic.run_as_definer('mnemic.drop_old_logs(int)');
