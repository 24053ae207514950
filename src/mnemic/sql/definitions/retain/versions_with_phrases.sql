-- Earlier versions of an owner's memories that were known at a time, have another text than now and contain one of these
-- phrases; the newest memories first. Runs as mnemic_definer and filters by the verified tenant, because row-level security
-- makes the index on words unusable for the application.
CREATE OR REPLACE FUNCTION mnemic.versions_with_phrases(
    wanted_owner text, phrases text[], as_of timestamptz, before uuid, most int
)
RETURNS TABLE (memory_id uuid, version int, content text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- Suppress the notice about phrases that consist of stop words only.
SET client_min_messages = warning
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    wanted_scope bigint[] := mnemic.scope_key(verified_tenant, wanted_owner);
    wanted tsquery := '';
    phrase text;
BEGIN
    IF verified_tenant IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    FOREACH phrase IN ARRAY phrases LOOP
        wanted := wanted || phraseto_tsquery('english', phrase);
    END LOOP;
    RETURN QUERY
    SELECT past.memory_id, past.version, past.content
    FROM state.memory_versions AS past
    JOIN state.memories AS now ON now.tenant_id = verified_tenant AND now.memory_id = past.memory_id
    WHERE mnemic.scope_key(past.tenant_id, past.owner) @> wanted_scope AND past.words @@ wanted
      AND (past.tenant_id = verified_tenant) IS TRUE AND (past.owner = wanted_owner) IS TRUE
      AND past.recorded_at <= as_of AND past.known_until > as_of
      AND (before IS NULL OR past.memory_id < before)
      AND now.content <> past.content
    ORDER BY past.memory_id DESC
    LIMIT most;
END
$$;
CALL mnemic.run_as_definer('mnemic.versions_with_phrases(text, text[], timestamptz, uuid, int)');
