-- Whether any tenant has an active key: a server that is reachable from other machines needs one.
CREATE OR REPLACE FUNCTION mnemic.has_keys() RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (mnemic.verified_claim('key') = 'any') IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'looking for keys of all tenants needs a proof';
    END IF;
    RETURN EXISTS (
        SELECT FROM state.api_keys
        WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > statement_timestamp())
    );
END
$$;
CALL mnemic.run_as_definer('mnemic.has_keys()');
