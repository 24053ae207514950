-- The names of tenants, for the worker that has jobs of theirs.
CREATE OR REPLACE FUNCTION mnemic.tenant_names(tenants uuid[]) RETURNS TABLE (tenant_id uuid, name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_working();
    RETURN QUERY SELECT found.tenant_id, found.name FROM state.tenants AS found WHERE found.tenant_id = ANY (tenants);
END
$$;
CALL mnemic.seal('mnemic.tenant_names(uuid[])');
