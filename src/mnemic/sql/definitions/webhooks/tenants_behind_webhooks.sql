-- @@
CREATE OR REPLACE FUNCTION mnemic.tenants_behind_webhooks(most int) RETURNS TABLE (tenant_id uuid, name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_working();
    RETURN QUERY
    SELECT tenants.tenant_id, tenants.name
    FROM state.tenants
    WHERE tenants.tenant_id IN (
        SELECT webhooks.tenant_id
        FROM queue.webhooks
        WHERE webhooks.state = 'enabled' AND (
            EXISTS (SELECT FROM queue.event_inbox WHERE event_inbox.tenant_id = webhooks.tenant_id)
            OR EXISTS (
                SELECT FROM queue.event_logs
                WHERE event_logs.tenant_id = webhooks.tenant_id AND event_logs.last_position > webhooks."position"
            )
        )
    )
    -- Not always the same ones first.
    ORDER BY random()
    LIMIT most;
END
$$;
CALL mnemic.seal('mnemic.tenants_behind_webhooks(int)');
