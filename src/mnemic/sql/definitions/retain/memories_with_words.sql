-- The newest memories of an owner that have all words of a text, at most `most` for each of `texts`. Only memories that can be
-- statements: active, short, no part of a longer text or document.
-- Row-level security makes the index on words unusable for the application, so this runs as mnemic_definer and filters
-- by the verified tenant.
CREATE OR REPLACE FUNCTION mnemic.memories_with_words(
    of_tenant uuid, wanted_owner text, texts text[], statement_most int, most int
)
RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    wanted_scope bigint[] := mnemic.scope_key(verified_tenant, wanted_owner);
BEGIN
    IF of_tenant IS DISTINCT FROM verified_tenant OR verified_tenant IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    RETURN QUERY
    SELECT DISTINCT found.memory_id
    FROM unnest(texts) AS given (text)
    CROSS JOIN LATERAL (SELECT plainto_tsquery('english', given.text) AS term OFFSET 0) AS parsed
    CROSS JOIN LATERAL (
        SELECT now.memory_id
        FROM state.memories AS now
        WHERE mnemic.scope_key(now.tenant_id, now.owner) @> wanted_scope AND now.words @@ parsed.term
          AND (now.tenant_id = verified_tenant) IS TRUE AND (now.owner = wanted_owner) IS TRUE
          AND now.status = 'active' AND now.deleted_at IS NULL AND now.category <> 'reference' AND now.whole_id IS NULL
          AND octet_length(now.content) <= statement_most
        ORDER BY now.memory_id DESC
        LIMIT most
    ) AS found
    WHERE numnode(parsed.term) > 0;
END
$$;
CALL mnemic.run_as_definer('mnemic.memories_with_words(uuid, text, text[], int, int)');
