-- The newest memories of an owner that match a filter with both `since` and `until`. Like mnemic.filtered_candidates, but
-- with one plan for all calls, which reads the index on time: planning takes longer than reading a day. The caller must
-- not use it for filters that another index finds.
CREATE OR REPLACE FUNCTION mnemic.memories_in_window(wanted_owner text, filter mnemic.recall_filter, most int) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    window_since timestamptz := (filter).since;
    window_until timestamptz := (filter).until;
BEGIN
    IF verified_tenant IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    RETURN ARRAY(
        SELECT memories.memory_id
        FROM state.memories
        WHERE memories.tenant_id = verified_tenant AND memories.owner = wanted_owner
          AND coalesce(memories.at, memories.created_at) >= window_since
          AND coalesce(memories.at, memories.created_at) < window_until
          AND mnemic.matches_filter(
              filter, memories.channel, memories.category, memories.tags, memories.conversation,
              coalesce(memories.at, memories.created_at), memories.confidence, memories.status, memories.deleted_at,
              memories.expires_at, memories.valid_from, memories.valid_to, memories.role, memories.name, memories.source,
              memories.metadata
          )
        ORDER BY coalesce(memories.at, memories.created_at) DESC
        LIMIT most
    );
END
$$;
CALL mnemic.run_as_definer('mnemic.memories_in_window(text, mnemic.recall_filter, int)');
