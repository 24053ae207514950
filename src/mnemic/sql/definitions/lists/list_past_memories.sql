-- needs: lists/listed_memories, lists/listed_versions
-- The same as mnemic.list_memories for what was known at a time (`as_of`), or what a branch reads: current versions that were
-- current then, and earlier ones. `few` are the only memories that can match, `few_now` those whose current version can, if
-- they are known.
--
-- Ids ascend with the time at which memories are stored. So only ids from before `later` are read, and those of memories
-- that an import stored later than they were recorded (mnemic.is_backdated); if there are many of these, all memories.
CREATE OR REPLACE FUNCTION mnemic.list_past_memories(
    of_tenant uuid, of_owner text, filter mnemic.memory_filter, viewed mnemic.recall_filter, wanted tsquery, few uuid[],
    few_now uuid[], ordering text, before uuid, most int
)
RETURNS SETOF uuid
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
SET enable_sort = on
AS $$
DECLARE
    few_max CONSTANT int := 2000;
    -- To list by when it happened, so many known memories are read and sorted, unless the others that would be skipped in
    -- that order are not more.
    sorted_max CONSTANT int := 20000;
    later uuid;
    backdated uuid[] := '{}';
    later_count int;
    before_at timestamptz;
BEGIN
    IF few IS NULL AND (filter).as_of IS NOT NULL THEN
        later := mnemic.first_id_at((filter).as_of + interval '1 hour');
        backdated := ARRAY(
            SELECT memories.memory_id
            FROM state.memories
            WHERE memories.tenant_id = of_tenant AND memories.owner = of_owner
              AND mnemic.is_backdated(memories.memory_id, memories.created_at)
              AND memories.memory_id >= later AND memories.created_at <= (filter).as_of
            LIMIT few_max + 1
        );
        IF cardinality(backdated) > few_max THEN
            later := NULL;
            backdated := '{}';
        END IF;
    END IF;
    IF ordering = 'happened' THEN
        SELECT coalesce(memories.at, memories.created_at) INTO before_at
        FROM state.memories
        WHERE memories.tenant_id = of_tenant AND memories.owner = of_owner AND memories.memory_id = before;
        IF few IS NULL AND few_now IS NULL THEN
            few := ARRAY(
                SELECT memories.memory_id
                FROM state.memories
                WHERE memories.tenant_id = of_tenant AND memories.owner = of_owner
                  AND (later IS NULL OR memories.memory_id < later)
                LIMIT sorted_max + 1
            ) || backdated;
            IF cardinality(few) > few_max THEN
                SELECT count(*) INTO later_count
                FROM (
                    SELECT FROM state.memories
                    WHERE memories.tenant_id = of_tenant AND memories.owner = of_owner AND memories.memory_id >= later
                    LIMIT sorted_max + 1
                ) AS unknown;
                IF cardinality(few) > sorted_max OR later_count <= sorted_max THEN
                    few := NULL;
                END IF;
            END IF;
        END IF;
    END IF;
    IF few IS NOT NULL THEN
        RETURN QUERY
        SELECT found.memory_id
        FROM (
            SELECT now.memory_id, now.happened_at
            FROM mnemic.listed_memories(of_tenant, of_owner, filter, viewed, wanted, few) AS now
            UNION ALL
            SELECT past.memory_id, past.happened_at
            FROM mnemic.listed_versions(of_tenant, of_owner, filter, viewed, wanted, few) AS past
        ) AS found
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
    -- Each part in the order of its index, up to a page.
    PERFORM set_config('enable_sort', 'off', true);
    RETURN QUERY
    SELECT found.memory_id
    FROM (
        (
            SELECT now.memory_id, now.happened_at
            FROM mnemic.listed_memories(of_tenant, of_owner, filter, viewed, wanted, few_now) AS now
            WHERE ordering = 'newest' AND (later IS NULL OR now.memory_id < later)
              AND (before IS NULL OR now.memory_id < before)
            ORDER BY now.memory_id DESC
            LIMIT most
        )
        UNION ALL
        (
            SELECT past.memory_id, past.happened_at
            FROM mnemic.listed_versions(of_tenant, of_owner, filter, viewed, wanted, NULL) AS past
            WHERE ordering = 'newest' AND (later IS NULL OR past.memory_id < later)
              AND (before IS NULL OR past.memory_id < before)
            ORDER BY past.memory_id DESC
            LIMIT most
        )
        UNION ALL
        (
            SELECT now.memory_id, now.happened_at
            FROM mnemic.listed_memories(of_tenant, of_owner, filter, viewed, wanted, few_now) AS now
            WHERE ordering = 'oldest' AND (later IS NULL OR now.memory_id < later)
              AND (before IS NULL OR now.memory_id > before)
            ORDER BY now.memory_id
            LIMIT most
        )
        UNION ALL
        (
            SELECT past.memory_id, past.happened_at
            FROM mnemic.listed_versions(of_tenant, of_owner, filter, viewed, wanted, NULL) AS past
            WHERE ordering = 'oldest' AND (later IS NULL OR past.memory_id < later)
              AND (before IS NULL OR past.memory_id > before)
            ORDER BY past.memory_id
            LIMIT most
        )
        UNION ALL
        (
            SELECT now.memory_id, now.happened_at
            FROM mnemic.listed_memories(of_tenant, of_owner, filter, viewed, wanted, few_now) AS now
            WHERE ordering = 'happened' AND (later IS NULL OR now.memory_id < later)
              AND (before IS NULL OR (now.happened_at, now.memory_id) < (before_at, before))
            ORDER BY now.happened_at DESC, now.memory_id DESC
            LIMIT most
        )
        UNION ALL
        (
            SELECT past.memory_id, past.happened_at
            FROM mnemic.listed_versions(of_tenant, of_owner, filter, viewed, wanted, NULL) AS past
            WHERE ordering = 'happened' AND (later IS NULL OR past.memory_id < later)
              AND (before IS NULL OR (past.happened_at, past.memory_id) < (before_at, before))
            ORDER BY past.happened_at DESC, past.memory_id DESC
            LIMIT most
        )
        UNION ALL
        (
            SELECT odd.memory_id, odd.happened_at
            FROM (
                SELECT now.memory_id, now.happened_at
                FROM mnemic.listed_memories(of_tenant, of_owner, filter, viewed, wanted, backdated) AS now
                UNION ALL
                SELECT past.memory_id, past.happened_at
                FROM mnemic.listed_versions(of_tenant, of_owner, filter, viewed, wanted, backdated) AS past
            ) AS odd
            WHERE cardinality(backdated) > 0
              AND (
                  before IS NULL
                  OR CASE ordering
                      WHEN 'newest' THEN odd.memory_id < before
                      WHEN 'oldest' THEN odd.memory_id > before
                      ELSE (odd.happened_at, odd.memory_id) < (before_at, before)
                  END
              )
        )
    ) AS found
    ORDER BY
        CASE WHEN ordering = 'newest' THEN found.memory_id END DESC,
        CASE WHEN ordering = 'oldest' THEN found.memory_id END,
        found.happened_at DESC, found.memory_id DESC
    LIMIT most;
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.list_past_memories(
    uuid, text, mnemic.memory_filter, mnemic.recall_filter, tsquery, uuid[], uuid[], text, uuid, int
) TO mnemic_definer;
