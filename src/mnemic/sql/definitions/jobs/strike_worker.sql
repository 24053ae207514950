-- Takes a worker off the list: one that leaves, or one that is dead since it has not beaten again (`seen_beats`;
-- NULL: whatever it is). Waits for a claim that the worker is just making.
CREATE OR REPLACE FUNCTION mnemic.strike_worker(struck text, seen_beats bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_working();
    DELETE FROM mnemic.workers WHERE workers.worker = struck AND workers.beats = coalesce(seen_beats, workers.beats);
    RETURN FOUND;
END
$$;
CALL mnemic.seal('mnemic.strike_worker(text, bigint)');
