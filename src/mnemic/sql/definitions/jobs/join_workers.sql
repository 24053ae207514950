-- Puts a worker on the list of the living; only those that are on it are given jobs.
CREATE OR REPLACE FUNCTION mnemic.join_workers(joining text, known_types text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_working();
    INSERT INTO mnemic.workers (worker, types) VALUES (joining, known_types)
    ON CONFLICT (worker) DO UPDATE
    SET beats = workers.beats + 1, seen_at = clock_timestamp(), types = excluded.types;
END
$$;
CALL mnemic.seal('mnemic.join_workers(text, text[])');
