-- Records a heartbeat. Returns false for a worker that is no longer registered: the failure detector removed it,
-- its jobs were requeued, and the worker must know that before it registers again.
CREATE OR REPLACE FUNCTION mnemic.record_heartbeat(beating text, known_types text[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_worker_proof();
    UPDATE mnemic.workers SET beats = workers.beats + 1, seen_at = clock_timestamp(), types = known_types
    WHERE workers.worker = beating;
    RETURN FOUND;
END
$$;
CALL mnemic.run_as_definer('mnemic.record_heartbeat(text, text[])');
