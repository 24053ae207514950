-- needs: lists/listed_memories, lists/list_past_memories, lists/few_memories, lists/list_words
-- The ids of an owner's memories that match a filter, a page at a time: after `before`, the last memory of the page before,
-- in the order newest or oldest (by id, which grows with time) or happened (latest first).
--
-- Runs as mnemic_definer and filters by the verified tenant: the index on words and tags is unusable under row-level
-- security. Planned in every call, so that the index fits the filter.
--
-- If few memories have what an index finds (mnemic.few_memories), only these are looked at. Otherwise what the filter wants
-- is frequent, and the memories are read in the order of the list until the page is full. Noticing that is expensive, so
-- the newest `newest_max` memories are tried before.
--
-- The planner has no statistics about owners and believes that each has few memories: it would read and sort all of them.
-- Without sorting it reads them in the order of an index.
CREATE OR REPLACE FUNCTION mnemic.list_memories(
    wanted_owner text, filter mnemic.memory_filter, ordering text, before uuid, most int
)
RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
SET enable_sort = on
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    few_max CONSTANT int := 2000;
    newest_max CONSTANT int := 4000;
    viewed mnemic.recall_filter;
    wanted tsquery := mnemic.list_words((filter).words);
    -- What the text index can find; for names only a part of the condition.
    indexed tsquery := wanted;
    names_query tsquery;
    reads_past boolean;
    few uuid[] := (filter).ids;
    few_now uuid[];
    before_at timestamptz;
    oldest_tried uuid;
    page uuid[];
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
    PERFORM set_config('enable_sort', 'off', true);
    -- Nearly all memories are active, so that this alone is no reason to look for a few.
    IF few IS NULL AND (
        indexed IS NOT NULL OR (filter).statuses <> ARRAY['active']
        OR num_nonnulls(
            (filter).tags, (filter).conversation, (filter).since, (filter).until, (filter).categories, (filter).sources,
            (filter).roles
        ) > 0
    ) THEN
        IF ordering = 'newest' AND NOT reads_past
            AND num_nonnulls((filter).conversation, (filter).since, (filter).until) = 0
        THEN
            SELECT memories.memory_id INTO oldest_tried
            FROM state.memories
            WHERE memories.tenant_id = verified_tenant AND memories.owner = wanted_owner
              AND (before IS NULL OR memories.memory_id < before)
            ORDER BY memories.memory_id DESC
            OFFSET newest_max LIMIT 1;
            IF FOUND THEN
                page := ARRAY(
                    SELECT found.memory_id
                    FROM mnemic.listed_memories(verified_tenant, wanted_owner, filter, viewed, wanted, NULL) AS found
                    WHERE found.memory_id >= oldest_tried AND (before IS NULL OR found.memory_id < before)
                    ORDER BY found.memory_id DESC
                    LIMIT most
                );
                IF cardinality(page) = most THEN
                    RETURN QUERY SELECT unnest(page);
                    RETURN;
                END IF;
            END IF;
        END IF;
        few := mnemic.few_memories(verified_tenant, wanted_owner, filter, indexed, reads_past, few_max);
        IF reads_past AND few IS NULL THEN
            few_now := mnemic.few_memories(verified_tenant, wanted_owner, filter, indexed, false, few_max);
        END IF;
    END IF;
    IF reads_past THEN
        RETURN QUERY
        SELECT mnemic.list_past_memories(
            verified_tenant, wanted_owner, filter, viewed, wanted, few, few_now, ordering, before, most
        );
        RETURN;
    END IF;
    IF ordering = 'happened' AND before IS NOT NULL THEN
        SELECT coalesce(memories.at, memories.created_at) INTO before_at
        FROM state.memories
        WHERE memories.tenant_id = verified_tenant AND memories.owner = wanted_owner AND memories.memory_id = before;
    END IF;
    IF few IS NOT NULL THEN
        PERFORM set_config('enable_sort', 'on', true);
        RETURN QUERY
        SELECT found.memory_id
        FROM mnemic.listed_memories(verified_tenant, wanted_owner, filter, viewed, wanted, few) AS found
        WHERE before IS NULL
           OR CASE ordering
               WHEN 'newest' THEN found.memory_id < before
               WHEN 'oldest' THEN found.memory_id > before
               ELSE (found.happened_at, found.memory_id) < (before_at, before)
           END
        ORDER BY
            CASE WHEN ordering = 'newest' THEN found.memory_id END DESC,
            CASE WHEN ordering = 'oldest' THEN found.memory_id END,
            found.happened_at DESC, found.memory_id DESC
        LIMIT most;
        RETURN;
    END IF;
    IF ordering = 'newest' THEN
        RETURN QUERY
        SELECT found.memory_id
        FROM mnemic.listed_memories(verified_tenant, wanted_owner, filter, viewed, wanted, NULL) AS found
        WHERE before IS NULL OR found.memory_id < before
        ORDER BY found.memory_id DESC
        LIMIT most;
    ELSIF ordering = 'oldest' THEN
        RETURN QUERY
        SELECT found.memory_id
        FROM mnemic.listed_memories(verified_tenant, wanted_owner, filter, viewed, wanted, NULL) AS found
        WHERE before IS NULL OR found.memory_id > before
        ORDER BY found.memory_id
        LIMIT most;
    ELSE
        RETURN QUERY
        SELECT found.memory_id
        FROM mnemic.listed_memories(verified_tenant, wanted_owner, filter, viewed, wanted, NULL) AS found
        WHERE before IS NULL OR (found.happened_at, found.memory_id) < (before_at, before)
        ORDER BY found.happened_at DESC, found.memory_id DESC
        LIMIT most;
    END IF;
END
$$;
CALL mnemic.run_as_definer('mnemic.list_memories(text, mnemic.memory_filter, text, uuid, int)');
