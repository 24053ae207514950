-- Whether a memory, as it is now, matches the filter of a grant. Through a grant only such memories have a past: those that
-- were forgotten, or that the grant does not cover any more, have none.
CREATE OR REPLACE FUNCTION mnemic.is_granted_today(of_tenant uuid, wanted_id uuid, granted mnemic.recall_filter)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM state.memories AS now
        WHERE now.tenant_id = of_tenant AND now.memory_id = wanted_id AND now.branch IS NULL
          AND mnemic.matches_filter(
              granted, now.channel, now.category, now.tags, now.conversation, coalesce(now.at, now.created_at),
              now.confidence, now.status, now.deleted_at, now.expires_at, now.valid_from, now.valid_to, now.role, now.name,
              now.source, now.metadata
          )
    );
END
$$;
