-- A recall in three statements instead of four (0024): the memories themselves come along with the candidates, unless
-- they are long, so that those that were chosen need not be asked for again.
--
-- The functions are smaller than those of 0024, and put together by the queries that call them. As there, they run
-- behind the tenant's policy; the first argument of each that a query calls first is what mnemic.enter gives.

DROP FUNCTION mnemic.recall_words(
    uuid, text, text[], real[], int, int, uuid[], int, int, text[], mnemic.recall_filter, timestamptz, boolean, anyarray
);
DROP FUNCTION mnemic.recall_near(
    uuid, text, text, text, anyelement, uuid[], text, int, int, uuid[], int, int, text[], mnemic.recall_filter,
    timestamptz
);
DROP FUNCTION mnemic.evidence(text, uuid[], uuid[], int, text[], mnemic.recall_filter, timestamptz);

-- The memories that have the query's words (mnemic.find_words), if any word is `searched`.
CREATE FUNCTION mnemic.recall_words(
    of_tenant uuid, wanted_owner text, searched text[], weights real[], memory_total int, most int,
    filter mnemic.recall_filter, as_of timestamptz,
    OUT found_ids uuid[], OUT counts int[], OUT found_conversations text[], OUT conversation_terms bigint[],
    OUT words_ms float8
)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    found_ids := '{}';
    IF searched <> '{}' THEN
        SELECT words.memory_ids, words.counts, words.conversations, words.conversation_terms
        INTO found_ids, counts, found_conversations, conversation_terms
        FROM mnemic.find_words(wanted_owner, searched, weights, memory_total, filter, as_of, most) AS words;
    END IF;
    words_ms := extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000;
END
$$;

-- The nearest in meaning (mnemic.nearest), or `near` if somebody else has found them. Without a vector nothing is near,
-- and if another model serves than the vector's, nothing is looked for: `model` says which.
CREATE FUNCTION mnemic.recall_near(
    of_tenant uuid, wanted_owner text, by_model text, vector_table text, wanted anyelement, near uuid[], index_name text,
    ef_search int, most int,
    OUT model text, OUT near_ids uuid[], OUT near_cosines real[], OUT mean float8, OUT deviation float8,
    OUT row_count bigint, OUT near_ms float8
)
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    near_ids := near;
    SELECT used.model INTO model FROM vectors.tenant_models AS used;
    IF near_ids IS NULL AND wanted IS NOT NULL AND model = by_model THEN
        SELECT found.memory_ids, found.cosines, found.mean, found.deviation, found.row_count
        INTO near_ids, near_cosines, mean, deviation, row_count
        FROM mnemic.nearest(of_tenant, wanted_owner, vector_table, wanted, index_name, ef_search, most) AS found;
    END IF;
    near_ids := coalesce(near_ids, '{}');
    near_ms := extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000;
END
$$;

-- Memories of an owner that pass a filter, with the turns around some of them, column by column: what ranking looks at,
-- and the rest of a record. A record whose texts have more than `along_bytes` comes without them (`content` is NULL).
-- Lists are JSON, NULL where they are empty: arrays cannot hold arrays of unequal length. A plan is kept (0022).
CREATE FUNCTION mnemic.evidence(
    wanted_owner text, ids uuid[], expanded_ids uuid[], reach int, wanted_terms text[], filter mnemic.recall_filter,
    as_of timestamptz, along_bytes int
)
RETURNS TABLE (
    memory_ids uuid[], conversations text[], positions int[], roles text[], names text[], channels text[], bytes int[],
    happened_at_s float8[], confidences real[], usefulnesses real[], saliences real[], anchored boolean[], tenses int[],
    terms bigint[],
    version int[], process text[], content text[], category text[], tags text[], metadata text[], source text[],
    provenance text[], evidence text[], status text[], superseded_by text[], merged_into text[], at timestamptz[],
    valid_from timestamptz[], valid_to timestamptz[], expires_at timestamptz[], created_at timestamptz[],
    recorded_at timestamptz[], changed_by text[], change_reason text[], whole_id text[], chunk_index int[],
    chunk_count int[], external_id text[], reinforcement_count int[], retrieval_count int[],
    last_retrieved_at timestamptz[], last_injected_at timestamptz[]
)
LANGUAGE plpgsql STABLE ROWS 1
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
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
        array_agg(found.name), array_agg(found.channel), array_agg(octet_length(found.content)),
        array_agg(extract(epoch FROM found.happened_at)::float8), array_agg(found.confidence),
        array_agg(found.usefulness), array_agg(found.salience), array_agg(found.anchored),
        array_agg(
            CASE WHEN found.valid_to <= (filter).moment THEN -1 WHEN found.valid_from > (filter).moment THEN 1 ELSE 0 END
        ),
        array_agg((
            SELECT coalesce(bit_or(1::bigint << (term.place - 1)::int), 0) FROM term WHERE found.words @@ term.term
        )),
        array_agg(found.version), array_agg(found.process),
        array_agg(CASE WHEN found.comes_along THEN found.content END), array_agg(found.category),
        array_agg(CASE WHEN found.comes_along AND found.tags <> '{}' THEN to_json(found.tags)::text END),
        array_agg(CASE WHEN found.comes_along AND found.metadata <> '{}' THEN found.metadata::text END),
        array_agg(found.source), array_agg(found.provenance),
        array_agg(CASE WHEN found.comes_along AND found.evidence <> '{}' THEN to_json(found.evidence)::text END),
        array_agg(found.status), array_agg(found.superseded_by::text), array_agg(found.merged_into::text),
        array_agg(found.at), array_agg(found.valid_from), array_agg(found.valid_to), array_agg(found.expires_at),
        array_agg(found.created_at), array_agg(found.recorded_at), array_agg(found.changed_by),
        array_agg(found.change_reason), array_agg(found.whole_id::text), array_agg(found.chunk_index),
        array_agg(found.chunk_count), array_agg(found.external_id), array_agg(found.reinforcement_count),
        array_agg(found.retrieval_count), array_agg(found.last_retrieved_at), array_agg(found.last_injected_at)
    FROM pool
    CROSS JOIN LATERAL (
        SELECT
            *,
            octet_length(content) + pg_column_size(tags) + pg_column_size(metadata) + pg_column_size(evidence)
                <= along_bytes AS comes_along
        FROM (
            SELECT
                memory_id, conversation, "position", role, name, channel, version, process, content, category, tags,
                metadata, source, provenance, evidence, confidence, anchored, status, superseded_by, merged_into, at,
                coalesce(at, created_at) AS happened_at, valid_from, valid_to, expires_at, deleted_at, created_at,
                recorded_at, changed_by, change_reason, whole_id, chunk_index, chunk_count, external_id, usefulness,
                salience, reinforcement_count, coalesce(counts.retrieval_count, 0) AS retrieval_count,
                counts.last_retrieved_at, last_injected_at, words
            FROM state.memories LEFT JOIN state.recall_counts AS counts USING (tenant_id, memory_id)
            WHERE memories.memory_id = pool.memory_id AND (owner = wanted_owner) IS TRUE
              AND (as_of IS NULL OR recorded_at <= as_of)
            UNION ALL
            SELECT
                memory_id, conversation, "position", role, name, channel, version, process, content, category, tags,
                metadata, source, provenance, evidence, confidence, anchored, status, superseded_by, merged_into, at,
                coalesce(at, created_at), valid_from, valid_to, expires_at, deleted_at, created_at, recorded_at, changed_by,
                change_reason, whole_id, chunk_index, chunk_count, external_id, usefulness, salience, reinforcement_count,
                retrieval_count, last_retrieved_at, last_injected_at, words
            FROM state.memory_versions
            WHERE as_of IS NOT NULL AND memory_versions.memory_id = pool.memory_id AND (owner = wanted_owner) IS TRUE
              AND recorded_at <= as_of AND known_until > as_of
        ) AS known
        WHERE mnemic.passes(
            filter, channel, category, tags, conversation, happened_at, confidence, status, deleted_at, expires_at,
            valid_from, valid_to
        )
        OFFSET 0
    ) AS found;
END
$$;

-- The vectors of memories, for a query's vector that is not known yet: `vectors` are those of the memories whose numbers
-- `vector_places` has, `sample_vectors` are drawn by lot from all of the owner's. Nothing if they are not wanted.
CREATE FUNCTION mnemic.recall_vectors(
    of_tenant uuid, wanted_owner text, ids uuid[], is_wanted boolean,
    OUT vector_places int[], INOUT vectors anyarray, OUT sample_vectors anyarray
)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    vector_table text;
BEGIN
    IF is_wanted THEN
        SELECT known.table_name INTO vector_table
        FROM vectors.tenant_models AS used JOIN mnemic.vector_models AS known ON known.model = used.model;
    END IF;
    IF vector_table IS NULL THEN
        RETURN;
    END IF;
    -- One look by key each, whatever the planner believes about the table. What is drawn by lot has no place.
    EXECUTE format(
        'SELECT array_agg(listed.place::int) FILTER (WHERE listed.place IS NOT NULL),'
        '   array_agg(found.embedding) FILTER (WHERE listed.place IS NOT NULL),'
        '   array_agg(found.embedding) FILTER (WHERE listed.place IS NULL)'
        ' FROM ('
        '   SELECT memory_id, place FROM unnest($1) WITH ORDINALITY AS given (memory_id, place)'
        '   UNION ALL'
        '   SELECT unnest(sample), NULL FROM vectors.owner_statistics WHERE tenant_id = $3 AND owner = $2'
        ' ) AS listed'
        ' CROSS JOIN LATERAL (SELECT embedding FROM vectors.%I AS stored'
        '   WHERE stored.tenant_id = $3 AND stored.memory_id = listed.memory_id OFFSET 0) AS found',
        vector_table
    )
    INTO vector_places, vectors, sample_vectors USING ids, wanted_owner, of_tenant;
END
$$;

-- The cosines of those of the `ids` that have a vector and are not among the `known_ids`, whose cosines are known.
CREATE FUNCTION mnemic.recall_cosines(
    of_tenant uuid, vector_table text, wanted anyelement, ids uuid[], known_ids uuid[],
    OUT other_ids uuid[], OUT other_cosines real[]
)
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF wanted IS NULL THEN
        RETURN;
    END IF;
    other_ids := ARRAY(SELECT unnest(ids) EXCEPT SELECT unnest(known_ids));
    IF other_ids <> '{}' THEN
        -- One look by key each, whatever the planner believes about the table.
        EXECUTE format(
            'SELECT array_agg(listed.memory_id), array_agg(found.cosine)'
            ' FROM unnest($1) AS listed (memory_id)'
            ' CROSS JOIN LATERAL (SELECT (1 - (embedding <=> $2))::real AS cosine FROM vectors.%I AS stored'
            '   WHERE stored.tenant_id = $3 AND stored.memory_id = listed.memory_id OFFSET 0) AS found',
            vector_table
        )
        INTO other_ids, other_cosines USING other_ids, wanted, of_tenant;
    END IF;
END
$$;
