-- needs: lists/listed_memories, lists/list_words
-- The ids of an owner's memories that match a filter, a page at a time: after `before`, the last memory of the page before,
-- in the order newest or oldest (by id, which grows with time) or happened (latest first).
--
-- Runs as mnemic_definer and filters by the verified tenant: the index on words and tags is unusable under row-level
-- security. Planned in every call, so that the index fits the filter.
--
-- Words, tags and names (the text index has these, too) are looked up in the text index first. If more than `few_max`
-- memories have them, they are frequent, and the memories are read in the order of the list until the page is full.
CREATE OR REPLACE FUNCTION mnemic.list_memories(
    wanted_owner text, filter mnemic.memory_filter, ordering text, before uuid, most int
)
RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    wanted_scope bigint[] := mnemic.scope_key(verified_tenant, wanted_owner);
    few_max CONSTANT int := 2000;
    viewed mnemic.recall_filter;
    wanted tsquery := mnemic.list_words((filter).words);
    -- What the text index can find; for names only a part of the condition.
    indexed tsquery := wanted;
    names_query tsquery;
    reads_past boolean;
    few uuid[] := (filter).ids;
    before_at timestamptz;
BEGIN
    IF verified_tenant IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    IF (filter).channel IS NOT NULL THEN
        viewed := mnemic.branch_filter(verified_tenant, wanted_owner, (filter).channel);
    END IF;
    reads_past := (filter).as_of IS NOT NULL OR (viewed).branch IS NOT NULL;
    IF (filter).names IS NOT NULL THEN
        SELECT CASE WHEN min(numnode(found.named)) > 0 THEN string_agg(format('(%s)', found.named), ' | ')::tsquery END
        INTO names_query
        FROM (SELECT plainto_tsquery('english', given) FROM unnest((filter).names) AS given) AS found (named);
        indexed := CASE WHEN indexed IS NULL THEN names_query ELSE indexed && coalesce(names_query, '') END;
    END IF;
    IF few IS NULL AND (indexed IS NOT NULL OR (filter).tags IS NOT NULL AND NOT reads_past) THEN
        few := ARRAY(
            SELECT found.memory_id
            FROM (
                SELECT now.memory_id
                FROM state.memories AS now
                WHERE mnemic.scope_key(now.tenant_id, now.owner) @> wanted_scope
                  AND (indexed IS NULL OR now.words @@ indexed)
                  -- An earlier version may have had other tags.
                  AND ((filter).tags IS NULL OR reads_past OR now.tags @> (filter).tags)
                  AND (now.tenant_id = verified_tenant) IS TRUE AND (now.owner = wanted_owner) IS TRUE
                UNION ALL
                SELECT past.memory_id
                FROM state.memory_versions AS past
                WHERE reads_past
                  AND mnemic.scope_key(past.tenant_id, past.owner) @> wanted_scope AND past.words @@ indexed
                  AND (past.tenant_id = verified_tenant) IS TRUE AND (past.owner = wanted_owner) IS TRUE
            ) AS found
            LIMIT few_max + 1
        );
        IF cardinality(few) > few_max THEN
            few := NULL;
        END IF;
    END IF;
    IF ordering = 'newest' THEN
        RETURN QUERY
        SELECT found.memory_id
        FROM mnemic.listed_memories(verified_tenant, wanted_owner, filter, viewed, wanted, few) AS found
        WHERE before IS NULL OR found.memory_id < before
        ORDER BY found.memory_id DESC
        LIMIT most;
    ELSIF ordering = 'oldest' THEN
        RETURN QUERY
        SELECT found.memory_id
        FROM mnemic.listed_memories(verified_tenant, wanted_owner, filter, viewed, wanted, few) AS found
        WHERE before IS NULL OR found.memory_id > before
        ORDER BY found.memory_id
        LIMIT most;
    ELSIF ordering = 'happened' THEN
        SELECT coalesce(at, created_at) INTO before_at
        FROM state.memories
        WHERE tenant_id = verified_tenant AND owner = wanted_owner AND memory_id = before;
        RETURN QUERY
        SELECT found.memory_id
        FROM mnemic.listed_memories(verified_tenant, wanted_owner, filter, viewed, wanted, few) AS found
        WHERE before IS NULL OR (found.happened_at, found.memory_id) < (before_at, before)
        ORDER BY found.happened_at DESC, found.memory_id DESC
        LIMIT most;
    ELSE
        RAISE invalid_parameter_value USING MESSAGE = format('there is no order %L', ordering);
    END IF;
END
$$;
CALL mnemic.run_as_definer('mnemic.list_memories(text, mnemic.memory_filter, text, uuid, int)');
