-- All workers with their heartbeat counts and the seconds since the last heartbeat, by this server's clock.
CREATE OR REPLACE FUNCTION mnemic.list_workers()
RETURNS TABLE (worker text, types text[], beats bigint, silent_s double precision, started_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_worker_proof();
    RETURN QUERY
    SELECT
        workers.worker, workers.types, workers.beats,
        extract(epoch FROM clock_timestamp() - workers.seen_at)::double precision, workers.started_at
    FROM mnemic.workers
    ORDER BY workers.worker;
END
$$;
CALL mnemic.run_as_definer('mnemic.list_workers()');
