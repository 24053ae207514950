-- Memories of an owner that match a selective filter; the newest ones, unless the filter has tags or metadata.
-- Runs as mnemic_definer and filters by the verified tenant: the indexes on tags and metadata are unusable under row-level
-- security. Planned in every call, so that the index fits the filter.
CREATE OR REPLACE FUNCTION mnemic.filtered_candidates(wanted_owner text, filter mnemic.recall_filter, most int) RETURNS SETOF uuid
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
    IF num_nonnulls((filter).tags, (filter).any_tags, (filter).metadata) > 0 THEN
        RETURN QUERY
        SELECT memories.memory_id
        FROM state.memories
        WHERE mnemic.scope_key(memories.tenant_id, memories.owner) @> mnemic.scope_key(verified_tenant, wanted_owner)
          AND (memories.tenant_id = verified_tenant) IS TRUE AND (memories.owner = wanted_owner) IS TRUE
          AND mnemic.matches_filter(
              filter, memories.channel, memories.category, memories.tags, memories.conversation,
              coalesce(memories.at, memories.created_at), memories.confidence, memories.status, memories.deleted_at,
              memories.expires_at, memories.valid_from, memories.valid_to, memories.role, memories.name, memories.source,
              memories.metadata
          )
        LIMIT most;
    ELSE
        RETURN QUERY
        SELECT memories.memory_id
        FROM state.memories
        WHERE memories.tenant_id = verified_tenant AND memories.owner = wanted_owner
          AND mnemic.matches_filter(
              filter, memories.channel, memories.category, memories.tags, memories.conversation,
              coalesce(memories.at, memories.created_at), memories.confidence, memories.status, memories.deleted_at,
              memories.expires_at, memories.valid_from, memories.valid_to, memories.role, memories.name, memories.source,
              memories.metadata
          )
        ORDER BY coalesce(memories.at, memories.created_at) DESC
        LIMIT most;
    END IF;
END
$$;
CALL mnemic.run_as_definer('mnemic.filtered_candidates(text, mnemic.recall_filter, int)');
