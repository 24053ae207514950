-- Removes a worker that leaves, or that is dead because it has sent no heartbeat since `seen_beats` (NULL:
-- unconditionally). Waits for a claim that the worker is just making.
CREATE OR REPLACE FUNCTION mnemic.remove_worker(removed text, seen_beats bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_worker_proof();
    DELETE FROM mnemic.workers WHERE workers.worker = removed AND workers.beats = coalesce(seen_beats, workers.beats);
    RETURN FOUND;
END
$$;
CALL mnemic.run_as_definer('mnemic.remove_worker(text, bigint)');
