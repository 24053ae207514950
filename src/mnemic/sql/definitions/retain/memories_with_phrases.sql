-- The newest memories of an owner that contain one of these phrases. It first reads the newest memories, which is
-- all for most owners and enough for frequent phrases; only for older ones it uses the index on words. Row-level
-- security makes that index unusable for the application (`@@` is not leakproof), so this runs as mnemic_definer
-- and filters by the verified tenant.
CREATE OR REPLACE FUNCTION mnemic.memories_with_phrases(wanted_owner text, phrases text[], newest_max int, most int)
RETURNS TABLE (memory_id uuid, content text)
LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- Suppress the notice about phrases that consist of stop words only.
SET client_min_messages = warning
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    wanted tsquery := '';
    phrase text;
    found_count bigint;
    oldest_read uuid;
BEGIN
    FOREACH phrase IN ARRAY phrases LOOP
        wanted := wanted || phraseto_tsquery('english', phrase);
    END LOOP;

    RETURN QUERY
    SELECT newest.memory_id, newest.content
    FROM (
        SELECT memories.memory_id, memories.content, memories.words
        FROM state.memories
        WHERE memories.tenant_id = verified_tenant AND memories.owner = wanted_owner
        ORDER BY memories.memory_id DESC
        LIMIT newest_max
    ) AS newest
    WHERE newest.words @@ wanted
    ORDER BY newest.memory_id DESC
    LIMIT most;
    GET DIAGNOSTICS found_count = ROW_COUNT;

    SELECT memories.memory_id INTO oldest_read
    FROM state.memories
    WHERE memories.tenant_id = verified_tenant AND memories.owner = wanted_owner
    ORDER BY memories.memory_id DESC
    OFFSET newest_max - 1 LIMIT 1;
    IF oldest_read IS NULL OR found_count >= most THEN
        RETURN;
    END IF;

    RETURN QUERY
    -- Materialized, so that the planner uses the index on words and not the one for the requested order.
    WITH matching AS MATERIALIZED (
        SELECT memories.memory_id
        FROM state.memories
        WHERE memories.tenant_id = verified_tenant AND memories.owner = wanted_owner AND memories.words @@ wanted
    )
    SELECT memories.memory_id, memories.content
    FROM (
        SELECT matching.memory_id FROM matching
        WHERE matching.memory_id < oldest_read
        ORDER BY matching.memory_id DESC
        LIMIT most - found_count
    ) AS older
    JOIN state.memories ON memories.tenant_id = verified_tenant AND memories.memory_id = older.memory_id
    ORDER BY older.memory_id DESC;
END
$$;
CALL mnemic.run_as_definer('mnemic.memories_with_phrases(text, text[], int, int)');
