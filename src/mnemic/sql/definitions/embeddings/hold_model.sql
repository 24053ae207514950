-- Waits for those who use the tenant's vectors, but not for long: behind whoever waits, all others wait.
CREATE OR REPLACE FUNCTION mnemic.hold_model() RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM set_config('lock_timeout', '300ms', true);
    PERFORM pg_advisory_xact_lock(mnemic.model_lock());
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.hold_model() TO mnemic_definer;
