-- Registers a worker; only registered workers are given jobs.
CREATE OR REPLACE FUNCTION mnemic.register_worker(joining text, known_types text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_worker_proof();
    INSERT INTO mnemic.workers (worker, types) VALUES (joining, known_types)
    ON CONFLICT (worker) DO UPDATE
    SET beats = workers.beats + 1, seen_at = clock_timestamp(), types = excluded.types;
END
$$;
CALL mnemic.run_as_definer('mnemic.register_worker(text, text[])');
