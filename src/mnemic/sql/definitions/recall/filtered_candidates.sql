-- Memories of an owner that match a selective filter; the newest ones, unless the filter has tags or metadata.
-- Runs as mnemic_definer and filters by the verified tenant: the indexes on tags and metadata are unusable under row-level
-- security. Planned in every call, so that the index fits the filter. In a branch, those that it reads.
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
    IF (filter).branch IS NOT NULL THEN
        RETURN QUERY
        SELECT known.memory_id
        FROM (
            SELECT now.memory_id, coalesce(now.at, now.created_at) AS happened_at
            FROM state.memories AS now
            WHERE now.tenant_id = verified_tenant AND now.owner = wanted_owner
              AND coalesce(now.recorded_at <= mnemic.known_at(filter, now.channel, NULL), true)
              AND mnemic.matches_filter(
                  filter, now.channel, now.category, now.tags, now.conversation, coalesce(now.at, now.created_at),
                  now.confidence, now.status, now.deleted_at, now.expires_at, now.valid_from, now.valid_to, now.role,
                  now.name, now.source, now.metadata
              )
            UNION ALL
            SELECT past.memory_id, coalesce(past.at, past.created_at)
            FROM state.memory_versions AS past
            WHERE past.tenant_id = verified_tenant AND past.owner = wanted_owner
              AND past.recorded_at <= mnemic.known_at(filter, past.channel, NULL)
              AND past.known_until > mnemic.known_at(filter, past.channel, NULL)
              AND mnemic.matches_filter(
                  filter, past.channel, past.category, past.tags, past.conversation, coalesce(past.at, past.created_at),
                  past.confidence, past.status, past.deleted_at, past.expires_at, past.valid_from, past.valid_to, past.role,
                  past.name, past.source, past.metadata
              )
        ) AS known
        WHERE NOT mnemic.is_hidden(verified_tenant, wanted_owner, known.memory_id, filter, NULL)
        ORDER BY known.happened_at DESC
        LIMIT most;
    ELSIF num_nonnulls((filter).tags, (filter).any_tags, (filter).metadata) > 0 THEN
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
