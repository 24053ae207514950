-- needs: lists/is_listed, recall/known_at, recall/is_hidden
-- The same as mnemic.listed_memories for earlier versions of memories: those that were known at the time that is read.
CREATE OR REPLACE FUNCTION mnemic.listed_versions(
    of_tenant uuid, of_owner text, filter mnemic.memory_filter, viewed mnemic.recall_filter, wanted tsquery, only_ids uuid[]
)
RETURNS TABLE (memory_id uuid, happened_at timestamptz)
LANGUAGE sql STABLE
AS $$
    SELECT past.memory_id, coalesce(past.at, past.created_at)
    FROM state.memory_versions AS past
    WHERE ((filter).as_of IS NOT NULL OR (viewed).branch IS NOT NULL)
      AND past.tenant_id = of_tenant
      AND CASE WHEN only_ids IS NULL THEN past.owner = of_owner ELSE (past.owner = of_owner) IS TRUE END
      AND CASE
          WHEN (viewed).branch IS NOT NULL THEN past.channel = (viewed).branch OR past.channel = ANY((viewed).past_channels)
          WHEN (filter).channel IS NULL THEN past.branch IS NULL
          ELSE past.channel = (filter).channel
      END
      AND past.recorded_at <= mnemic.known_at(viewed, past.channel, (filter).as_of)
      AND past.known_until > mnemic.known_at(viewed, past.channel, (filter).as_of)
      AND ((viewed).branch IS NULL OR NOT mnemic.is_hidden(of_tenant, of_owner, past.memory_id, viewed, (filter).as_of))
      AND (only_ids IS NULL OR past.memory_id = ANY(only_ids))
      AND (wanted IS NULL OR past.words @@ wanted)
      AND mnemic.is_listed(
          filter, past.category, past.status, past.tags, past.source, past.role, past.name, past.conversation,
          coalesce(past.at, past.created_at), past.confidence, past.deleted_at
      )
      AND (NOT coalesce((filter).never_recalled, false) OR past.retrieval_count = 0)
$$;
