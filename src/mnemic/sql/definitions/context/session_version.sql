-- The version of a session's window, and how many of its levels a model has written; no row if there is no such session.
-- A function, because a signed statement has to prove its tenant before it reads a table.
CREATE OR REPLACE FUNCTION mnemic.session_version(of_tenant uuid, of_owner text, of_session text)
RETURNS TABLE (version int, level_count int)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT sessions.version, sessions.level_count
    FROM state.context_sessions AS sessions
    WHERE sessions.tenant_id = of_tenant AND sessions.owner = of_owner AND sessions.session = of_session;
END
$$;
