-- Those of `given_words` that no memory of an owner has, deleted ones left out; each has its tsquery in `terms`, NULL if
-- it is known otherwise. Row-level security makes the index on
-- words unusable for the application, so this runs as mnemic_definer and filters by the verified tenant.
CREATE OR REPLACE FUNCTION mnemic.unknown_words(wanted_owner text, given_words text[], terms text[])
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    wanted_scope bigint[] := mnemic.scope_key(verified_tenant, wanted_owner);
BEGIN
    IF verified_tenant IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    RETURN ARRAY(
        SELECT given.word
        FROM unnest(given_words, terms) WITH ORDINALITY AS given (word, term, place)
        CROSS JOIN LATERAL (SELECT given.term::tsquery AS term OFFSET 0) AS parsed
        WHERE given.term IS NOT NULL
          -- LIMIT keeps the planner from joining the words with all memories of the owner.
          AND (
              SELECT true FROM state.memories AS now
              WHERE mnemic.scope_key(now.tenant_id, now.owner) @> wanted_scope AND now.words @@ parsed.term
                AND (now.tenant_id = verified_tenant) IS TRUE AND (now.owner = wanted_owner) IS TRUE
                AND now.deleted_at IS NULL
              LIMIT 1
          ) IS NULL
        ORDER BY given.place
    );
END
$$;
CALL mnemic.run_as_definer('mnemic.unknown_words(text, text[], text[])');
