-- The memories of an owner that match the filter of a request through a grant, and when they happened; for `as_of`, those
-- that matched it then and that the grant (`granted`) covers today. Everything that recall counts or compares for the
-- reader of a grant is counted or compared among these. No grant opens a
-- branch. Runs as mnemic_definer and filters by the verified tenant: the
-- indexes on tags and metadata are unusable under row-level security. Planned in every call, so that the index fits the filter.
CREATE OR REPLACE FUNCTION mnemic.granted_memories(
    of_tenant uuid, wanted_owner text, filter mnemic.recall_filter, granted mnemic.recall_filter, as_of timestamptz
)
RETURNS TABLE (memory_id uuid, happened_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
BEGIN
    IF of_tenant IS DISTINCT FROM verified_tenant OR verified_tenant IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    IF num_nonnulls((filter).tags, (filter).any_tags, (filter).metadata) > 0 THEN
        RETURN QUERY
        SELECT now.memory_id, coalesce(now.at, now.created_at)
        FROM state.memories AS now
        WHERE mnemic.scope_key(now.tenant_id, now.owner) @> mnemic.scope_key(verified_tenant, wanted_owner)
          AND (now.tenant_id = verified_tenant) IS TRUE AND (now.owner = wanted_owner) IS TRUE AND now.branch IS NULL
          AND (
              as_of IS NULL
              OR now.recorded_at <= as_of AND mnemic.is_granted_today(verified_tenant, now.memory_id, granted)
          )
          AND mnemic.matches_filter(
              filter, now.channel, now.category, now.tags, now.conversation, coalesce(now.at, now.created_at),
              now.confidence, now.status, now.deleted_at, now.expires_at, now.valid_from, now.valid_to, now.role, now.name,
              now.source, now.metadata
          );
    ELSE
        RETURN QUERY
        SELECT now.memory_id, coalesce(now.at, now.created_at)
        FROM state.memories AS now
        WHERE now.tenant_id = verified_tenant AND now.owner = wanted_owner AND now.branch IS NULL
          AND (
              as_of IS NULL
              OR now.recorded_at <= as_of AND mnemic.is_granted_today(verified_tenant, now.memory_id, granted)
          )
          AND mnemic.matches_filter(
              filter, now.channel, now.category, now.tags, now.conversation, coalesce(now.at, now.created_at),
              now.confidence, now.status, now.deleted_at, now.expires_at, now.valid_from, now.valid_to, now.role, now.name,
              now.source, now.metadata
          );
    END IF;
    IF as_of IS NOT NULL THEN
        RETURN QUERY
        SELECT past.memory_id, coalesce(past.at, past.created_at)
        FROM state.memory_versions AS past
        WHERE past.tenant_id = verified_tenant AND past.owner = wanted_owner AND past.branch IS NULL
          AND past.recorded_at <= as_of AND past.known_until > as_of
          AND mnemic.is_granted_today(verified_tenant, past.memory_id, granted)
          AND mnemic.matches_filter(
              filter, past.channel, past.category, past.tags, past.conversation, coalesce(past.at, past.created_at),
              past.confidence, past.status, past.deleted_at, past.expires_at, past.valid_from, past.valid_to, past.role,
              past.name, past.source, past.metadata
          );
    END IF;
END
$$;
CALL mnemic.run_as_definer('mnemic.granted_memories(uuid, text, mnemic.recall_filter, mnemic.recall_filter, timestamptz)');
