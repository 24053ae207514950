-- Gives a webhook (of this owner, unless NULL) a new secret. The old one stays valid beside it for `grace_s`
-- seconds and replaces an earlier previous one. Returns whether there was such a webhook.
CREATE OR REPLACE FUNCTION mnemic.rotate_webhook_secret(rotated uuid, of_owner text, new_secret text, grace_s int)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
BEGIN
    IF (mnemic.verified_claim('maintenance') = verified_tenant::text) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'rotating a secret needs a proof of maintenance';
    END IF;
    UPDATE queue.webhooks
    SET secret = new_secret, updated_at = clock_timestamp(), previous_secret = secret,
        previous_secret_until = clock_timestamp() + make_interval(secs => grace_s)
    WHERE tenant_id = verified_tenant AND webhook_id = rotated AND (of_owner IS NULL OR owner = of_owner);
    RETURN FOUND;
END
$$;
CALL mnemic.run_as_definer('mnemic.rotate_webhook_secret(uuid, text, text, int)');
