-- Takes the tenant's model lock exclusively, with a short timeout: while one transaction waits for it, all later
-- ones queue behind.
CREATE OR REPLACE FUNCTION mnemic.lock_model() RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM set_config('lock_timeout', '300ms', true);
    PERFORM pg_advisory_xact_lock(mnemic.model_lock_key());
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.lock_model() TO mnemic_definer;
