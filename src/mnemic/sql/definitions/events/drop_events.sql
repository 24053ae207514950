-- Drops the tenant's events that are older than `keep_days` days, at most `most` of them, oldest first; returns
-- the number of dropped positions. Needs a proof of maintenance, so that injected SQL in an ordinary transaction
-- cannot shorten the event log.
CREATE OR REPLACE FUNCTION mnemic.drop_events(keep_days int, most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    kept_since CONSTANT timestamptz := mnemic.retention_time() - make_interval(days => keep_days);
    log queue.event_logs;
    first_kept bigint;
BEGIN
    IF (mnemic.verified_claim('maintenance') = verified_tenant::text) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'dropping events needs a proof of maintenance';
    END IF;
    IF keep_days IS NULL OR keep_days < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'events are kept for at least 1 day';
    END IF;
    -- Events that were never read have no position yet and must be dropped, too.
    PERFORM mnemic.sequence_events(most);
    SELECT * INTO log FROM queue.event_logs WHERE tenant_id = verified_tenant FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    SELECT min(young."position") INTO first_kept
    FROM (
        SELECT "position" FROM queue.events
        WHERE tenant_id = verified_tenant AND "position" <= log.dropped_position + most
          AND at >= kept_since
        ORDER BY "position" LIMIT 1
    ) AS young;
    first_kept := coalesce(first_kept, least(log.dropped_position + most, log.last_position) + 1);
    DELETE FROM queue.events WHERE tenant_id = verified_tenant AND "position" < first_kept;
    UPDATE queue.event_logs SET dropped_position = first_kept - 1 WHERE tenant_id = verified_tenant;
    RETURN first_kept - 1 - log.dropped_position;
END
$$;
CALL mnemic.run_as_definer('mnemic.drop_events(int, int)');
