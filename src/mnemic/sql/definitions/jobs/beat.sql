-- A sign of life. Returns false for a worker that is not on the list any more: it was taken for dead, its jobs are
-- others' by now, and it must know that before it joins again.
CREATE OR REPLACE FUNCTION mnemic.beat(beating text, known_types text[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_working();
    UPDATE mnemic.workers SET beats = workers.beats + 1, seen_at = clock_timestamp(), types = known_types
    WHERE workers.worker = beating;
    RETURN FOUND;
END
$$;
CALL mnemic.seal('mnemic.beat(text, text[])');
