-- The names of tenants, for the worker that runs their jobs.
CREATE OR REPLACE FUNCTION mnemic.tenant_names(tenants uuid[]) RETURNS TABLE (tenant_id uuid, name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_worker_proof();
    RETURN QUERY SELECT found.tenant_id, found.name FROM state.tenants AS found WHERE found.tenant_id = ANY (tenants);
END
$$;
CALL mnemic.run_as_definer('mnemic.tenant_names(uuid[])');
