-- All workers: how often each has beaten, and for how many seconds not any more, by this server's clock.
CREATE OR REPLACE FUNCTION mnemic.list_workers()
RETURNS TABLE (worker text, types text[], beats bigint, silent_s double precision, started_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_working();
    RETURN QUERY
    SELECT
        workers.worker, workers.types, workers.beats,
        extract(epoch FROM clock_timestamp() - workers.seen_at)::double precision, workers.started_at
    FROM mnemic.workers
    ORDER BY workers.worker;
END
$$;
CALL mnemic.seal('mnemic.list_workers()');
