-- needs: lists/is_listed, recall/known_at, recall/is_hidden
-- An owner's memories whose current version is read and matches the filter of a list: with `as_of`, or in a branch, those
-- that have not changed since then. `viewed` says how the channel reads its parents (mnemic.branch_filter).
-- Without a channel, memories outside of branches. Inlined into mnemic.list_memories: conditions that compare nothing
-- disappear, and the order and the limit there choose the index. IS TRUE keeps the planner from reading all memories of the
-- owner to find a few ids.
CREATE OR REPLACE FUNCTION mnemic.listed_memories(
    of_tenant uuid, of_owner text, filter mnemic.memory_filter, viewed mnemic.recall_filter, wanted tsquery, only_ids uuid[]
)
RETURNS TABLE (memory_id uuid, happened_at timestamptz)
LANGUAGE sql STABLE
AS $$
    SELECT now.memory_id, coalesce(now.at, now.created_at)
    FROM state.memories AS now
    WHERE now.tenant_id = of_tenant
      AND CASE WHEN only_ids IS NULL THEN now.owner = of_owner ELSE (now.owner = of_owner) IS TRUE END
      AND CASE
          WHEN (viewed).branch IS NOT NULL THEN now.channel = (viewed).branch OR now.channel = ANY((viewed).past_channels)
          WHEN (filter).channel IS NULL THEN now.branch IS NULL
          ELSE now.channel = (filter).channel
      END
      AND coalesce(now.recorded_at <= mnemic.known_at(viewed, now.channel, (filter).as_of), true)
      AND ((viewed).branch IS NULL OR NOT mnemic.is_hidden(of_tenant, of_owner, now.memory_id, viewed, (filter).as_of))
      AND (only_ids IS NULL OR now.memory_id = ANY(only_ids))
      AND (wanted IS NULL OR now.words @@ wanted)
      AND mnemic.is_listed(
          filter, now.category, now.status, now.tags, now.source, now.role, now.name, now.conversation,
          coalesce(now.at, now.created_at), now.confidence, now.deleted_at
      )
      AND (
          NOT coalesce((filter).never_recalled, false)
          OR NOT EXISTS (
              SELECT FROM state.recall_counts AS counts
              WHERE counts.tenant_id = of_tenant AND counts.memory_id = now.memory_id AND counts.retrieval_count > 0
          )
      )
$$;
