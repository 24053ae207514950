-- Deletes previous secrets whose grace period has ended; returns how many.
CREATE OR REPLACE FUNCTION mnemic.delete_expired_webhook_secrets() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    forgotten bigint;
BEGIN
    IF (mnemic.verified_claim('maintenance') = verified_tenant::text) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'forgetting secrets needs a proof of maintenance';
    END IF;
    UPDATE queue.webhooks SET previous_secret = NULL, previous_secret_until = NULL
    WHERE tenant_id = verified_tenant AND previous_secret_until <= clock_timestamp();
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    RETURN forgotten;
END
$$;
CALL mnemic.run_as_definer('mnemic.delete_expired_webhook_secrets()');
