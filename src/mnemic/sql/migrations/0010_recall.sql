-- Recall by words. What matches a word is found by an index of one owner's words, never by an index of
-- everybody's that is filtered afterwards: a neighbour with a million memories costs nobody anything.

-- Stands for an owner of a tenant in an index. An array, because that is what GIN takes without an extension.
CREATE FUNCTION mnemic.scope_key(tenant_id uuid, owner text) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY[hashtextextended(owner, hashtextextended(tenant_id::text, 0))];
GRANT EXECUTE ON FUNCTION mnemic.scope_key(uuid, text) TO mnemic_app, mnemic_definer;

-- One index for words and tags; GIN intersects its columns by skipping, so that a rare key makes a frequent
-- one cheap. New entries wait in a list that every search reads to its end: it is kept short.
DROP INDEX state.memories_words;
CREATE INDEX memories_words ON state.memories USING gin (mnemic.scope_key(tenant_id, owner), words, tags)
WITH (gin_pending_list_limit = 512);
CREATE INDEX memory_versions_words ON state.memory_versions
USING gin (mnemic.scope_key(tenant_id, owner), words)
WITH (gin_pending_list_limit = 512);
-- Statistics of an index would give away what those of its table are withheld for.
ALTER INDEX state.memories_words ALTER COLUMN 1 SET STATISTICS 0;
ALTER INDEX state.memory_versions_words ALTER COLUMN 1 SET STATISTICS 0;
-- When it happened or was said, for questions about a time.
CREATE INDEX memories_happened ON state.memories (tenant_id, owner, coalesce(at, created_at));

-- How often words occur with an owner, for owners with so many memories that counting would take too long.
-- Made anew by upkeep every now and then; what it lacks or has wrong costs a little order, nothing else.
-- They lie in `vectors`, with all that is made from memories, for searching, and can be made again.
CREATE TABLE vectors.owner_statistics (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    memory_count int NOT NULL CHECK (memory_count >= 0),
    mean_bytes real NOT NULL CHECK (mean_bytes >= 0),
    -- Some memories drawn by lot, which stand for all of them.
    sample uuid[] NOT NULL,
    refreshed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, owner)
);
COMMENT ON TABLE vectors.owner_statistics IS 'How many memories large owners have; made from the memories.';
CALL mnemic.protect('vectors.owner_statistics');
CREATE TABLE vectors.word_statistics (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    word text NOT NULL,
    memory_count int NOT NULL CHECK (memory_count > 0),
    PRIMARY KEY (tenant_id, owner, word),
    FOREIGN KEY (tenant_id, owner) REFERENCES vectors.owner_statistics ON DELETE CASCADE
);
COMMENT ON TABLE vectors.word_statistics IS 'In how many memories of large owners words occur.';
CALL mnemic.protect('vectors.word_statistics', 'SELECT, INSERT, DELETE');

-- Counts an owner's memories and words and keeps what it counted; words in fewer than one of 5,000 memories
-- are left out. ts_stat wants a query as text; it runs with the rights, and behind the wall, of the caller.
CREATE FUNCTION mnemic.refresh_statistics(wanted_owner text) RETURNS int
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    sample_size CONSTANT int := 64;
    counted int;
    mean real;
BEGIN
    PERFORM pg_advisory_xact_lock(
        hashtextextended('mnemic.statistics ' || mnemic.current_tenant() || ' ' || wanted_owner, 0)
    );
    SELECT count(*), coalesce(avg(octet_length(content)), 0) INTO counted, mean
    FROM state.memories WHERE owner = wanted_owner;
    INSERT INTO vectors.owner_statistics (tenant_id, owner, memory_count, mean_bytes, sample)
    VALUES (
        mnemic.current_tenant(), wanted_owner, counted, mean,
        ARRAY(SELECT memory_id FROM state.memories WHERE owner = wanted_owner ORDER BY random() LIMIT sample_size)
    )
    ON CONFLICT (tenant_id, owner) DO UPDATE
    SET memory_count = excluded.memory_count, mean_bytes = excluded.mean_bytes, sample = excluded.sample,
        refreshed_at = now();
    DELETE FROM vectors.word_statistics WHERE owner = wanted_owner;
    INSERT INTO vectors.word_statistics (tenant_id, owner, word, memory_count)
    SELECT mnemic.current_tenant(), wanted_owner, counts.word, counts.ndoc
    FROM ts_stat(format('SELECT words FROM state.memories WHERE owner = %L', wanted_owner)) AS counts
    WHERE counts.ndoc >= counted / 5000.0;
    RETURN counted;
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.refresh_statistics(text) TO mnemic_app;

-- What a recall may find. NULL lets everything through; of `tags` a memory needs all, of `any_tags` one. `moment` is now, or the moment of the past that
-- is asked about; then `valid_at_moment` is set, and only what was valid at that moment passes.
CREATE TYPE mnemic.recall_filter AS (
    channels text[],
    categories text[],
    tags text[],
    any_tags text[],
    conversation text,
    since timestamptz,
    until timestamptz,
    min_confidence real,
    statuses text[],
    moment timestamptz,
    valid_at_moment boolean
);

CREATE FUNCTION mnemic.passes(
    filter mnemic.recall_filter, channel text, category text, tags text[], conversation text,
    happened_at timestamptz, confidence real, status text, deleted_at timestamptz, expires_at timestamptz,
    valid_from timestamptz, valid_to timestamptz
) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN status = ANY((filter).statuses)
    AND deleted_at IS NULL
    AND coalesce(expires_at > (filter).moment, true)
    AND ((filter).channels IS NULL OR channel = ANY((filter).channels))
    AND ((filter).categories IS NULL OR category = ANY((filter).categories))
    AND ((filter).tags IS NULL OR tags @> (filter).tags)
    AND ((filter).any_tags IS NULL OR tags && (filter).any_tags)
    AND ((filter).conversation IS NULL OR conversation = (filter).conversation)
    AND ((filter).since IS NULL OR happened_at >= (filter).since)
    AND ((filter).until IS NULL OR happened_at < (filter).until)
    AND ((filter).min_confidence IS NULL OR confidence >= (filter).min_confidence)
    AND (
        NOT (filter).valid_at_moment
        OR coalesce(valid_from <= (filter).moment, true) AND coalesce(valid_to > (filter).moment, true)
    );

-- Memories as they are and as they were, with all that ranking looks at. Views run with the rights of
-- whoever asks, so the wall stands.
CREATE VIEW state.recallable WITH (security_invoker = true) AS
SELECT
    tenant_id, memory_id, owner, channel, conversation, "position", role, name, category, tags, confidence, anchored,
    status, coalesce(at, created_at) AS happened_at, valid_from, valid_to, expires_at, deleted_at, recorded_at,
    usefulness, salience, words, octet_length(content) AS bytes, NULL::timestamptz AS known_until
FROM state.memories
UNION ALL
SELECT
    tenant_id, memory_id, owner, channel, conversation, "position", role, name, category, tags, confidence, anchored,
    status, coalesce(at, created_at), valid_from, valid_to, expires_at, deleted_at, recorded_at,
    usefulness, salience, words, octet_length(content), known_until
FROM state.memory_versions;
GRANT SELECT ON state.recallable TO mnemic_app;

-- Searches by words. Row-level security keeps the application from using the index (`@@` is not leakproof),
-- so it runs as mnemic_definer, whom a policy lets see everything, and itself asks for the verified tenant.
--
-- `terms` are searched one by one; a memory's score is the sum of its terms' weights, less for long texts.
-- Where `weights` has none, a term weighs as much as it is rare among `memory_total` memories. Returns one
-- row: the best `most` memories; how many memories have each term; and for the conversations that have the
-- most of the terms, which ones (bit n stands for term n), at most `most` of them. IS TRUE keeps the planner,
-- which knows nothing about owners, from taking an index by owner for one that leaves few rows.
CREATE POLICY definer_searches ON state.memory_versions FOR SELECT TO mnemic_definer USING (true);
CREATE FUNCTION mnemic.find_words(
    wanted_owner text, terms text[], weights real[], memory_total int, filter mnemic.recall_filter,
    as_of timestamptz, most int
)
RETURNS TABLE (memory_ids uuid[], counts int[], conversations text[], conversation_terms bigint[])
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- Its plan is kept, and one that was made while there were few memories must not read all of them later.
SET enable_seqscan = off
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    wanted_scope bigint[] := mnemic.scope_key(verified_tenant, wanted_owner);
BEGIN
    IF verified_tenant IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    RETURN QUERY
    WITH term AS MATERIALIZED (
        SELECT given.term::tsquery AS term, given.place::int AS place
        FROM unnest(terms) WITH ORDINALITY AS given (term, place)
    ),
    hit AS MATERIALIZED (
        SELECT term.place, found.memory_id, found.conversation, found.bytes
        FROM term
        CROSS JOIN LATERAL (
            SELECT now.memory_id, now.conversation, octet_length(now.content)::float8 AS bytes
            FROM state.memories AS now
            WHERE mnemic.scope_key(now.tenant_id, now.owner) @> wanted_scope AND now.words @@ term.term
              AND (now.tenant_id = verified_tenant) IS TRUE AND (now.owner = wanted_owner) IS TRUE
              AND (as_of IS NULL OR now.recorded_at <= as_of)
              AND mnemic.passes(
                  filter, now.channel, now.category, now.tags, now.conversation, coalesce(now.at, now.created_at),
                  now.confidence, now.status, now.deleted_at, now.expires_at, now.valid_from, now.valid_to
              )
            UNION ALL
            SELECT past.memory_id, past.conversation, octet_length(past.content)::float8
            FROM state.memory_versions AS past
            WHERE as_of IS NOT NULL
              AND mnemic.scope_key(past.tenant_id, past.owner) @> wanted_scope AND past.words @@ term.term
              AND (past.tenant_id = verified_tenant) IS TRUE AND (past.owner = wanted_owner) IS TRUE
              AND past.recorded_at <= as_of AND past.known_until > as_of
              AND mnemic.passes(
                  filter, past.channel, past.category, past.tags, past.conversation,
                  coalesce(past.at, past.created_at), past.confidence, past.status, past.deleted_at, past.expires_at,
                  past.valid_from, past.valid_to
              )
        ) AS found
    ),
    counted AS (
        SELECT term.place, count(hit.place) AS hits FROM term LEFT JOIN hit USING (place) GROUP BY term.place
    ),
    weighed AS (
        SELECT
            counted.place,
            coalesce(
                weights[counted.place],
                ln(1 + greatest(memory_total - counted.hits, 0) / (counted.hits + 0.5))
            ) AS weight
        FROM counted
    ),
    best AS (
        SELECT hit.memory_id
        FROM hit
        JOIN weighed USING (place)
        GROUP BY hit.memory_id
        -- A scalar sub-select is computed once; joined, it was computed for every hit.
        ORDER BY sum(weighed.weight) / (1.5 + 1.5 * max(hit.bytes) / (SELECT avg(hit.bytes) FROM hit)) DESC,
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
CALL mnemic.seal('mnemic.find_words(text, text[], real[], int, mnemic.recall_filter, timestamptz, int)');

-- Memories of an owner that pass a filter, for filters that leave few; the newest of them, unless tags are
-- asked for. As mnemic_definer and with the tenant asked for, for the same reason: tags have an index that the
-- application cannot use. Planned anew in every call, so that the index is the one that this filter needs.
CREATE FUNCTION mnemic.find_filtered(wanted_owner text, filter mnemic.recall_filter, most int) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
BEGIN
    IF verified_tenant IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'no tenant was proved';
    END IF;
    IF (filter).tags IS NOT NULL OR (filter).any_tags IS NOT NULL THEN
        RETURN QUERY
        SELECT memories.memory_id
        FROM state.memories
        WHERE mnemic.scope_key(memories.tenant_id, memories.owner) @> mnemic.scope_key(verified_tenant, wanted_owner)
          AND (memories.tenant_id = verified_tenant) IS TRUE AND (memories.owner = wanted_owner) IS TRUE
          AND mnemic.passes(
              filter, memories.channel, memories.category, memories.tags, memories.conversation,
              coalesce(memories.at, memories.created_at), memories.confidence, memories.status, memories.deleted_at,
              memories.expires_at, memories.valid_from, memories.valid_to
          )
        LIMIT most;
    ELSE
        RETURN QUERY
        SELECT memories.memory_id
        FROM state.memories
        WHERE memories.tenant_id = verified_tenant AND memories.owner = wanted_owner
          AND mnemic.passes(
              filter, memories.channel, memories.category, memories.tags, memories.conversation,
              coalesce(memories.at, memories.created_at), memories.confidence, memories.status, memories.deleted_at,
              memories.expires_at, memories.valid_from, memories.valid_to
          )
        ORDER BY coalesce(memories.at, memories.created_at) DESC
        LIMIT most;
    END IF;
END
$$;
CALL mnemic.seal('mnemic.find_filtered(text, mnemic.recall_filter, int)');

-- Candidates and the turns around the best of them (`reach` before and after), as far as they pass the filter,
-- with all that ranking looks at, as one row of arrays: many rows take longer to unpack than to find. `terms`
-- says which terms of the query a memory has: bit n stands for term n. LATERAL and OFFSET make it one look into
-- an index per memory, whatever the planner believes about the tables; IS TRUE keeps it from indexes by owner.
-- Runs with the caller's rights and behind its wall; it is a function so that its plan is kept.
CREATE FUNCTION mnemic.evidence(
    wanted_owner text, ids uuid[], expanded_ids uuid[], reach int, wanted_terms text[], filter mnemic.recall_filter,
    as_of timestamptz
)
RETURNS TABLE (
    memory_ids uuid[], conversations text[], positions int[], roles text[], names text[], channels text[], bytes int[],
    happened_at_s float8[], confidences real[], usefulnesses real[], saliences real[], anchored boolean[], tenses int[],
    terms bigint[]
)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH term AS MATERIALIZED (
        SELECT given.term::tsquery AS term, given.place
        FROM unnest(wanted_terms) WITH ORDINALITY AS given (term, place)
    ),
    expanded AS MATERIALIZED (
        -- The bounds are computed here: row-level security keeps an index from comparing with what may fail.
        SELECT found.conversation, found."position" - reach AS first_near, found."position" + reach AS last_near
        FROM unnest(expanded_ids) AS given (memory_id)
        CROSS JOIN LATERAL (
            SELECT conversation, "position" FROM state.memories
            WHERE memories.memory_id = given.memory_id AND (owner = wanted_owner) IS TRUE
            OFFSET 0
        ) AS found
    ),
    pool AS MATERIALIZED (
        SELECT memory_id FROM unnest(ids) AS given (memory_id)
        UNION
        SELECT around.memory_id
        FROM expanded
        CROSS JOIN LATERAL (
            SELECT memory_id FROM state.memories
            WHERE owner = wanted_owner AND memories.conversation = expanded.conversation
              AND "position" BETWEEN expanded.first_near AND expanded.last_near
            OFFSET 0
        ) AS around
    )
    SELECT
        array_agg(found.memory_id), array_agg(found.conversation), array_agg(found."position"), array_agg(found.role),
        array_agg(found.name), array_agg(found.channel), array_agg(found.bytes),
        array_agg(extract(epoch FROM found.happened_at)::float8), array_agg(found.confidence),
        array_agg(found.usefulness), array_agg(found.salience), array_agg(found.anchored),
        array_agg(
            CASE WHEN found.valid_to <= (filter).moment THEN -1 WHEN found.valid_from > (filter).moment THEN 1 ELSE 0 END
        ),
        array_agg((
            SELECT coalesce(bit_or(1::bigint << (term.place - 1)::int), 0) FROM term WHERE found.words @@ term.term
        ))
    FROM pool
    CROSS JOIN LATERAL (
        SELECT * FROM state.recallable
        WHERE recallable.memory_id = pool.memory_id AND (owner = wanted_owner) IS TRUE
          AND CASE WHEN as_of IS NULL THEN known_until IS NULL
              ELSE recorded_at <= as_of AND coalesce(known_until > as_of, true) END
          AND mnemic.passes(
              filter, channel, category, tags, conversation, happened_at, confidence, status, deleted_at, expires_at,
              valid_from, valid_to
          )
        OFFSET 0
    ) AS found;
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.evidence(text, uuid[], uuid[], int, text[], mnemic.recall_filter, timestamptz)
TO mnemic_app;
