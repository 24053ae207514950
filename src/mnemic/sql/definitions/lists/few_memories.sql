-- The memories that an index finds for the filter of a list, in no order; NULL if there is nothing to look up, or if there
-- are more than `few_max`, which takes as long to notice as to read those. They may still miss other conditions.
--
-- `indexed` are words, also those of names, for the text index. Conversations and times have indexes, and the index in
-- which lists are read has categories, statuses, sources and roles. Of these, only conversation and role are the same in
-- earlier versions of a memory.
CREATE OR REPLACE FUNCTION mnemic.few_memories(
    of_tenant uuid, of_owner text, filter mnemic.memory_filter, indexed tsquery, reads_past boolean, few_max int
)
RETURNS uuid[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
SET enable_sort = off
AS $$
DECLARE
    wanted_scope bigint[] := mnemic.scope_key(of_tenant, of_owner);
    few uuid[];
BEGIN
    IF indexed IS NOT NULL OR (filter).tags IS NOT NULL AND NOT reads_past THEN
        few := ARRAY(
            SELECT found.memory_id
            FROM (
                SELECT now.memory_id
                FROM state.memories AS now
                WHERE mnemic.scope_key(now.tenant_id, now.owner) @> wanted_scope
                  AND (indexed IS NULL OR now.words @@ indexed)
                  -- An earlier version may have had other tags.
                  AND ((filter).tags IS NULL OR reads_past OR now.tags @> (filter).tags)
                  AND (now.tenant_id = of_tenant) IS TRUE AND (now.owner = of_owner) IS TRUE
                UNION ALL
                SELECT past.memory_id
                FROM state.memory_versions AS past
                WHERE reads_past
                  AND mnemic.scope_key(past.tenant_id, past.owner) @> wanted_scope AND past.words @@ indexed
                  AND (past.tenant_id = of_tenant) IS TRUE AND (past.owner = of_owner) IS TRUE
            ) AS found
            LIMIT few_max + 1
        );
        IF cardinality(few) <= few_max THEN
            RETURN few;
        END IF;
    END IF;
    IF (filter).conversation IS NOT NULL THEN
        few := ARRAY(
            SELECT memories.memory_id
            FROM state.memories
            WHERE memories.tenant_id = of_tenant AND memories.owner = of_owner
              AND memories.conversation = (filter).conversation
            ORDER BY memories.position
            LIMIT few_max + 1
        );
        IF cardinality(few) <= few_max THEN
            RETURN few;
        END IF;
    END IF;
    IF NOT reads_past AND num_nonnulls((filter).since, (filter).until) > 0 THEN
        few := ARRAY(
            SELECT memories.memory_id
            FROM state.memories
            WHERE memories.tenant_id = of_tenant AND memories.owner = of_owner
              AND ((filter).since IS NULL OR coalesce(memories.at, memories.created_at) >= (filter).since)
              AND ((filter).until IS NULL OR coalesce(memories.at, memories.created_at) < (filter).until)
            ORDER BY coalesce(memories.at, memories.created_at)
            LIMIT few_max + 1
        );
        IF cardinality(few) <= few_max THEN
            RETURN few;
        END IF;
    END IF;
    IF (filter).roles IS NOT NULL
        OR NOT reads_past AND num_nonnulls((filter).categories, (filter).statuses, (filter).sources) > 0
    THEN
        few := ARRAY(
            SELECT memories.memory_id
            FROM state.memories
            WHERE memories.tenant_id = of_tenant AND memories.owner = of_owner
              AND (reads_past OR (filter).categories IS NULL OR memories.category = ANY((filter).categories))
              AND (reads_past OR (filter).statuses IS NULL OR memories.status = ANY((filter).statuses))
              AND (reads_past OR (filter).sources IS NULL OR memories.source = ANY((filter).sources))
              AND ((filter).roles IS NULL OR memories.role = ANY((filter).roles))
            ORDER BY memories.memory_id DESC
            LIMIT few_max + 1
        );
        IF cardinality(few) <= few_max THEN
            RETURN few;
        END IF;
    END IF;
    RETURN NULL;
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.few_memories(uuid, text, mnemic.memory_filter, tsquery, boolean, int) TO mnemic_definer;
