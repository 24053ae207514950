-- Lexical search. Row-level security makes the index on words unusable for the application (`@@` is not
-- leakproof), so this runs as mnemic_definer and filters by the verified tenant.
--
-- Each of `terms` is searched separately; mnemic.lexical_score scores the memories that have any. Without `weights`,
-- mnemic.term_weight weighs the terms by the number of memories found. Without `mean_bytes`, the mean length is that of
-- the memories found, each counted once per term. Returns one row: the best `most` memories; without `weights` the number
-- of memories per term; and for at most `most` conversations with the most terms a bitmap of their terms. IS TRUE keeps the planner,
-- which has no statistics about owners, from using an index by owner. `granted` is what a grant covers, NULL for the
-- owner's own search; see mnemic.is_granted_today.
CREATE OR REPLACE FUNCTION mnemic.lexical_candidates(
    wanted_owner text, terms text[], weights real[], memory_total int, mean_bytes real,
    filter mnemic.recall_filter, granted mnemic.recall_filter, as_of timestamptz, most int
)
RETURNS TABLE (memory_ids uuid[], counts int[], conversations text[], conversation_terms bigint[])
-- It returns one row. The default estimate of 1,000 would make the statement look expensive enough for JIT.
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp
-- The plan does not depend on the arguments, since nothing in it is estimated from statistics. One plan per connection is
-- kept; a plan made while there were few memories must not read all of them later.
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    wanted_scope bigint[] := mnemic.scope_key(verified_tenant, wanted_owner);
    few_max CONSTANT int := 2000;
    -- Variables: a field of a composite value is extracted for every row. Most searches filter by these only.
    wanted_statuses text[] := (filter).statuses;
    wanted_channels text[] := (filter).channels;
    moment timestamptz := (filter).moment;
    in_branch boolean := (filter).branch IS NOT NULL;
    is_granted boolean := (granted).statuses IS NOT NULL;
    reads_past boolean := as_of IS NOT NULL OR (filter).branch IS NOT NULL;
    filters_more boolean := (filter).valid_at_moment OR num_nonnulls(
        (filter).categories, (filter).tags, (filter).any_tags, (filter).conversation, (filter).since, (filter).until,
        (filter).min_confidence, (filter).role, (filter).name, (filter).source, (filter).metadata
    ) > 0;
    few uuid[];
BEGIN
    IF verified_tenant IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    -- Read few granted memories as a whole: a word may occur in very many others. No index finds those of a channel.
    IF is_granted AND as_of IS NULL AND weights IS NULL AND memory_total <= few_max
        AND num_nonnulls(
            (filter).tags, (filter).any_tags, (filter).categories, (filter).conversation, (filter).metadata
        ) > 0
    THEN
        few := ARRAY(
            SELECT found.memory_id
            FROM mnemic.granted_memories(verified_tenant, wanted_owner, filter, granted, NULL) AS found
        );
    END IF;
    RETURN QUERY
    WITH term AS MATERIALIZED (
        SELECT given.term::tsquery AS term, given.place::int AS place
        FROM unnest(terms) WITH ORDINALITY AS given (term, place)
    ),
    few_memories AS MATERIALIZED (
        SELECT found.memory_id, found.conversation, octet_length(found.content)::float8 AS bytes, found.words
        FROM unnest(few) AS given (memory_id)
        CROSS JOIN LATERAL (
            SELECT now.memory_id, now.conversation, now.content, now.words FROM state.memories AS now
            WHERE now.tenant_id = verified_tenant AND now.memory_id = given.memory_id
            OFFSET 0
        ) AS found
    ),
    hit AS MATERIALIZED (
        SELECT term.place, found.memory_id, found.conversation, found.bytes
        FROM term
        CROSS JOIN LATERAL (
            SELECT now.memory_id, now.conversation, octet_length(now.content)::float8 AS bytes
            FROM state.memories AS now
            WHERE few IS NULL
              AND mnemic.scope_key(now.tenant_id, now.owner) @> wanted_scope AND now.words @@ term.term
              AND (now.tenant_id = verified_tenant) IS TRUE AND (now.owner = wanted_owner) IS TRUE
              AND (
                  NOT reads_past OR coalesce(now.recorded_at <= mnemic.known_at(filter, now.channel, as_of), true)
              )
              AND (
                  NOT in_branch OR NOT mnemic.is_hidden(verified_tenant, wanted_owner, now.memory_id, filter, as_of)
              )
              AND (
                  NOT is_granted
                  OR now.branch IS NULL
                  AND (as_of IS NULL OR mnemic.is_granted_today(verified_tenant, now.memory_id, granted))
              )
              AND now.status = ANY(wanted_statuses) AND now.deleted_at IS NULL
              AND (now.expires_at IS NULL OR now.expires_at > moment)
              AND (wanted_channels IS NULL OR now.channel = ANY(wanted_channels))
              AND (
                  NOT filters_more
                  OR mnemic.matches_filter(
                      filter, now.channel, now.category, now.tags, now.conversation, coalesce(now.at, now.created_at),
                      now.confidence, now.status, now.deleted_at, now.expires_at, now.valid_from, now.valid_to, now.role,
                      now.name, now.source, now.metadata
                  )
              )
            UNION ALL
            SELECT few_memories.memory_id, few_memories.conversation, few_memories.bytes
            FROM few_memories
            WHERE few_memories.words @@ term.term
            UNION ALL
            SELECT past.memory_id, past.conversation, octet_length(past.content)::float8
            FROM state.memory_versions AS past
            WHERE reads_past
              AND mnemic.scope_key(past.tenant_id, past.owner) @> wanted_scope AND past.words @@ term.term
              AND (past.tenant_id = verified_tenant) IS TRUE AND (past.owner = wanted_owner) IS TRUE
              AND past.recorded_at <= mnemic.known_at(filter, past.channel, as_of)
              AND past.known_until > mnemic.known_at(filter, past.channel, as_of)
              AND (
                  NOT in_branch OR NOT mnemic.is_hidden(verified_tenant, wanted_owner, past.memory_id, filter, as_of)
              )
              AND (
                  NOT is_granted
                  OR past.branch IS NULL AND mnemic.is_granted_today(verified_tenant, past.memory_id, granted)
              )
              AND mnemic.matches_filter(
                  filter, past.channel, past.category, past.tags, past.conversation,
                  coalesce(past.at, past.created_at), past.confidence, past.status, past.deleted_at, past.expires_at,
                  past.valid_from, past.valid_to, past.role, past.name, past.source, past.metadata
              )
        ) AS found
    ),
    counted AS (
        SELECT term.place, coalesce(counts.hits, 0) AS hits
        FROM term
        LEFT JOIN (SELECT hit.place, count(*) AS hits FROM hit WHERE weights IS NULL GROUP BY hit.place) AS counts
            ON counts.place = term.place
    ),
    weighed AS (
        SELECT
            counted.place,
            coalesce(weights[counted.place], mnemic.term_weight(counted.hits, memory_total)) AS weight
        FROM counted
    ),
    best AS (
        SELECT hit.memory_id
        FROM hit
        JOIN weighed USING (place)
        GROUP BY hit.memory_id
        -- A scalar sub-select is computed once; a join would compute it for every hit.
        ORDER BY
            mnemic.lexical_score(
                sum(weighed.weight), max(hit.bytes), coalesce(mean_bytes, (SELECT avg(hit.bytes) FROM hit))
            ) DESC,
            hit.memory_id DESC
        LIMIT most
    ),
    covered AS (
        SELECT place_of.conversation, sum(1::bigint << (place_of.place - 1))::bigint AS bits
        FROM (SELECT DISTINCT hit.conversation, hit.place FROM hit WHERE hit.conversation IS NOT NULL) AS place_of
        JOIN weighed USING (place)
        GROUP BY place_of.conversation
        ORDER BY sum(weighed.weight) DESC
        LIMIT most
    )
    SELECT
        ARRAY(SELECT best.memory_id FROM best),
        ARRAY(SELECT counted.hits::int FROM counted ORDER BY counted.place),
        ARRAY(SELECT covered.conversation FROM covered ORDER BY covered.conversation),
        ARRAY(SELECT covered.bits FROM covered ORDER BY covered.conversation);
END
$$;
CALL mnemic.run_as_definer(
    'mnemic.lexical_candidates(text, text[], real[], int, real, mnemic.recall_filter, mnemic.recall_filter,'
    ' timestamptz, int)'
);
