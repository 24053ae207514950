-- The time by which retention decides what is old. Usually that is the server's clock. A clock that jumps ahead by a
-- year would make everything old at once, so a jump is not followed until it has been confirmed.
--
-- States: trusted (`observed` is NULL) -> (more than `gap_max` since the last call) doubted -> (watched for
-- `confirmed_after`) trusted. Every run of maintenance calls this; a trusted clock is never silent for `gap_max`. A
-- doubted one goes on from the last trusted time at its normal pace, without the gap. The clock of a machine that was
-- switched off for a while is doubted, too: it keeps rows for longer. Further gaps count as a day of watching, so that a
-- machine that runs once a week is trusted at times. When the clock is set back to about the
-- trusted time, the jump was an error and is forgotten.
CREATE OR REPLACE FUNCTION mnemic.retention_time() RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    gap_max CONSTANT interval := '3 days';
    gap_counts CONSTANT interval := '1 day';
    confirmed_after CONSTANT interval := '7 days';
    written_every CONSTANT interval := '1 minute';
    server_time CONSTANT timestamptz := clock_timestamp();
    clock mnemic.retention_clock;
    gap interval;
BEGIN
    INSERT INTO mnemic.retention_clock (retention_time, seen_at)
    SELECT server_time, server_time WHERE NOT EXISTS (SELECT FROM mnemic.retention_clock)
    ON CONFLICT DO NOTHING;
    SELECT * INTO clock FROM mnemic.retention_clock;
    gap := server_time - clock.seen_at;
    IF gap BETWEEN interval '0' AND written_every THEN
        RETURN least(clock.retention_time + gap, server_time);
    END IF;
    PERFORM FROM mnemic.retention_clock WHERE seen_at = clock.seen_at FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        -- Another transaction sets it at this moment. Until then the time that it had is early enough.
        RETURN least(clock.retention_time, server_time);
    END IF;
    IF gap < interval '0' THEN
        clock.retention_time := least(clock.retention_time, server_time);
        clock.observed := CASE WHEN server_time - clock.retention_time > gap_max THEN coalesce(clock.observed, '0') END;
    ELSIF gap > gap_max THEN
        clock.observed := coalesce(clock.observed + gap_counts, '0');
    ELSE
        clock.retention_time := clock.retention_time + gap;
        clock.observed := clock.observed + gap;
    END IF;
    IF clock.observed >= confirmed_after THEN
        clock.observed := NULL;
    END IF;
    IF clock.observed IS NULL AND gap >= interval '0' THEN
        clock.retention_time := server_time;
    END IF;
    UPDATE mnemic.retention_clock
    SET retention_time = clock.retention_time, seen_at = server_time, observed = clock.observed;
    RETURN clock.retention_time;
END
$$;
CALL mnemic.run_as_definer('mnemic.retention_time()');
