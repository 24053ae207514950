-- Requests a NOTIFY on a channel (jobs or events) after this transaction has committed. The connection pool reads
-- the setting after the commit and sends the NOTIFY in a transaction of its own: here, the lock that NOTIFY takes
-- would serialize all commits of the server.
CREATE OR REPLACE FUNCTION mnemic.request_wakeup(channel text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    wakeups text[] := string_to_array(coalesce(current_setting('mnemic.wakeups', true), ''), ',');
BEGIN
    IF channel <> ALL (wakeups) THEN
        PERFORM set_config('mnemic.wakeups', array_to_string(wakeups || channel, ','), false);
    END IF;
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.request_wakeup(text) TO mnemic_app, mnemic_definer;
