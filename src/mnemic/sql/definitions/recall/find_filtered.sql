-- Memories of an owner that pass a filter, for filters that leave few; the newest of them, unless tags are
-- asked for. As mnemic_definer and with the tenant asked for, for the same reason: tags have an index that the
-- application cannot use. Planned anew in every call, so that the index is the one that this filter needs.
CREATE OR REPLACE FUNCTION mnemic.find_filtered(wanted_owner text, filter mnemic.recall_filter, most int) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
BEGIN
    IF verified_tenant IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    IF (filter).tags IS NOT NULL OR (filter).any_tags IS NOT NULL THEN
        RETURN QUERY
        SELECT memories.memory_id
        FROM state.memories
        WHERE mnemic.scope_key(memories.tenant_id, memories.owner) @> mnemic.scope_key(verified_tenant, wanted_owner)
          AND (memories.tenant_id = verified_tenant) IS TRUE AND (memories.owner = wanted_owner) IS TRUE
          AND mnemic.passes(
              filter, memories.channel, memories.category, memories.tags, memories.conversation,
              coalesce(memories.at, memories.created_at), memories.confidence, memories.status, memories.deleted_at,
              memories.expires_at, memories.valid_from, memories.valid_to
          )
        LIMIT most;
    ELSE
        RETURN QUERY
        SELECT memories.memory_id
        FROM state.memories
        WHERE memories.tenant_id = verified_tenant AND memories.owner = wanted_owner
          AND mnemic.passes(
              filter, memories.channel, memories.category, memories.tags, memories.conversation,
              coalesce(memories.at, memories.created_at), memories.confidence, memories.status, memories.deleted_at,
              memories.expires_at, memories.valid_from, memories.valid_to
          )
        ORDER BY coalesce(memories.at, memories.created_at) DESC
        LIMIT most;
    END IF;
END
$$;
CALL mnemic.seal('mnemic.find_filtered(text, mnemic.recall_filter, int)');
