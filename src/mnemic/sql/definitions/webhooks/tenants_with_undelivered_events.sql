-- For workers, who serve all tenants: the tenants that have events which an enabled webhook has not been given
-- yet. Needs a proof of `working`.
CREATE OR REPLACE FUNCTION mnemic.tenants_with_undelivered_events(most int) RETURNS TABLE (tenant_id uuid, name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_worker_proof();
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
    -- In random order, so that no tenant is always last.
    ORDER BY random()
    LIMIT most;
END
$$;
CALL mnemic.run_as_definer('mnemic.tenants_with_undelivered_events(int)');
