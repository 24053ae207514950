-- Deletes recorded delivery attempts that are older than `keep_days` days, at most `most`; returns how many.
CREATE OR REPLACE FUNCTION mnemic.drop_webhook_deliveries(keep_days int, most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    kept_since CONSTANT timestamptz := mnemic.retention_time() - make_interval(days => keep_days);
    dropped bigint;
BEGIN
    IF (mnemic.verified_claim('maintenance') = verified_tenant::text) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'dropping deliveries needs a proof of maintenance';
    END IF;
    IF keep_days IS NULL OR keep_days < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'deliveries are kept for at least 1 day';
    END IF;
    DELETE FROM queue.webhook_deliveries
    WHERE tenant_id = verified_tenant AND delivery_id = ANY (ARRAY(
        SELECT old.delivery_id FROM queue.webhook_deliveries AS old
        WHERE old.tenant_id = verified_tenant AND old.at < kept_since
        ORDER BY old.at LIMIT most
    ));
    GET DIAGNOSTICS dropped = ROW_COUNT;
    RETURN dropped;
END
$$;
CALL mnemic.run_as_definer('mnemic.drop_webhook_deliveries(int, int)');
