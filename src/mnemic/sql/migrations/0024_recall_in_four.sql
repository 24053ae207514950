-- A recall as four statements, each a transaction by itself that is signed (docs/adr/0017): what is known about the
-- query, what has its words, what is near in meaning, and the memories that were chosen. Only the third one needs the
-- query's vector. The second one, which takes longest, runs while the query is embedded and what is near is searched
-- for; so it brings the vectors of what it finds along.
--
-- The functions run with the rights of whoever calls them, behind the tenant's policy. The first argument of each is
-- what mnemic.enter gives, so that entering comes first. Those that touch vectors have no search path of their own:
-- pgvector's operators are wherever an administrator put them, and Mnemic's connections look there. All but
-- mnemic.nearest, which settles how to search, are STABLE: each sees one moment, so that the model that serves and its
-- vectors belong together, and nobody who changes the model has to be kept waiting.

-- The nearest memories of an owner: by the index of this name if it is valid, else by comparing with all of the owner's
-- vectors; then also mean and deviation of their cosines, and how many there are. Planned in every call: a plan for any
-- owner could not tell whose index it may use. Without statistics about owners (0001) the planner takes every owner
-- for small and would sort. Before 0.8 pgvector cannot go on searching, and gives at most `ef_search` rows.
CREATE FUNCTION mnemic.nearest(
    of_tenant uuid, wanted_owner text, vector_table text, wanted anyelement, index_name text, ef_search int, most int
)
RETURNS TABLE (memory_ids uuid[], cosines real[], mean float8, deviation float8, row_count bigint)
LANGUAGE plpgsql ROWS 1
AS $$
BEGIN
    IF EXISTS (
        SELECT FROM pg_catalog.pg_index
        WHERE indexrelid = pg_catalog.to_regclass('vectors.' || quote_ident(index_name)) AND indisvalid
    ) THEN
        PERFORM
            set_config('enable_sort', 'off', true),
            set_config('hnsw.ef_search', ef_search::text, true),
            set_config('hnsw.iterative_scan', 'relaxed_order', true)
        FROM pg_catalog.pg_extension
        WHERE extname = 'vector' AND string_to_array(extversion, '.')::int[] >= '{0,8}';
        IF NOT FOUND THEN
            PERFORM set_config('enable_sort', 'off', true), set_config('hnsw.ef_search', ef_search::text, true);
        END IF;
        -- The index may give a row a little too late.
        RETURN QUERY EXECUTE format(
            'SELECT array_agg(memory_id ORDER BY cosine DESC, memory_id),'
            '   array_agg(cosine ORDER BY cosine DESC, memory_id), NULL::float8, NULL::float8, NULL::bigint'
            ' FROM ('
            '   SELECT memory_id, (1 - (embedding <=> $1))::real AS cosine FROM vectors.%I'
            '   WHERE tenant_id = $2 AND owner = $3 AND hashtextextended(owner, 0) = hashtextextended($3, 0)'
            '   ORDER BY embedding <=> $1 LIMIT $4'
            ' ) AS near',
            vector_table
        )
        USING wanted, of_tenant, wanted_owner, most;
    ELSE
        RETURN QUERY EXECUTE format(
            'WITH scored AS MATERIALIZED ('
            '   SELECT memory_id, 1 - (embedding <=> $1) AS cosine FROM vectors.%I WHERE tenant_id = $2 AND owner = $3'
            ' ), best AS MATERIALIZED ('
            '   SELECT memory_id, cosine FROM scored ORDER BY cosine DESC, memory_id LIMIT $4'
            ' )'
            ' SELECT ARRAY(SELECT memory_id FROM best), ARRAY(SELECT cosine::real FROM best),'
            '   avg(cosine), stddev_pop(cosine)::float8, count(*) FROM scored',
            vector_table
        )
        USING wanted, of_tenant, wanted_owner, most;
    END IF;
END
$$;

-- What must be known before searching: the words of the query that are indexed, in their order, and the phrases, each as
-- a tsquery, with how many of the owner's memories have a word where that is kept; how many memories there are (counted
-- up to `count_max` where no number is kept), their mean length in bytes where that is kept, and whether what is kept is
-- older than `statistics_age`; whether the owner has entities, and whether anybody lets him read; and the model
-- that serves the tenant, NULL before the first vector.
CREATE FUNCTION mnemic.recall_terms(
    of_tenant uuid, wanted_owner text, query text, phrases text[], count_max int, statistics_age interval
)
RETURNS TABLE (
    lexemes text[], terms text[], counts int[], phrase_terms text[], kept_count int, mean_bytes real, is_stale boolean,
    counted bigint, has_entities boolean, has_grants boolean, model text, table_name text, dimensions int
)
LANGUAGE plpgsql STABLE ROWS 1
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT
        query_words.lexemes, query_words.terms,
        ARRAY(
            -- A sub-select is one look by key; a join might read all words of the owner.
            SELECT (
                SELECT listed.memory_count FROM vectors.word_statistics AS listed
                WHERE listed.tenant_id = of_tenant AND listed.owner = wanted_owner AND listed.word = wanted.word
            )
            FROM unnest(query_words.lexemes) WITH ORDINALITY AS wanted (word, place)
            ORDER BY wanted.place
        ),
        ARRAY(
            SELECT nullif(phraseto_tsquery('english', given.phrase)::text, '')
            FROM unnest(phrases) WITH ORDINALITY AS given (phrase, place)
            ORDER BY given.place
        ),
        kept.memory_count, kept.mean_bytes, coalesce(kept.refreshed_at < now() - statistics_age, false),
        CASE WHEN kept.memory_count IS NULL THEN (
            SELECT count(*) FROM (
                SELECT FROM state.memories WHERE memories.owner = wanted_owner LIMIT count_max
            ) AS first_ones
        ) END,
        EXISTS (SELECT FROM state.entity_names WHERE entity_names.owner = wanted_owner),
        EXISTS (SELECT FROM state.grants WHERE grants.granted_to = wanted_owner AND grants.revoked_at IS NULL),
        serving.model, serving.table_name, serving.dimensions
    FROM (
        SELECT
            coalesce(array_agg(found.lexeme ORDER BY found.positions[1], found.lexeme), '{}') AS lexemes,
            coalesce(
                array_agg(
                    strip(array_to_tsvector(ARRAY[found.lexeme]))::text ORDER BY found.positions[1], found.lexeme
                ),
                '{}'
            ) AS terms
        FROM unnest(to_tsvector('english', query)) AS found
    ) AS query_words
    LEFT JOIN vectors.owner_statistics AS kept ON kept.owner = wanted_owner
    LEFT JOIN (
        vectors.tenant_models AS used JOIN mnemic.vector_models AS serving ON serving.model = used.model
    ) ON true;
END
$$;

-- The memories that have the query's words (mnemic.find_words, if `searched` has any) and `other_ids`, with the turns
-- around the best `expanded` of both and all that ranking looks at. `vectors` are those of the members whose numbers
-- `vector_places` has; `sample_vectors` are drawn by lot from all of the owner's. Both only with `with_vectors`.
CREATE FUNCTION mnemic.recall_words(
    of_tenant uuid, wanted_owner text, searched text[], weights real[], memory_total int, most int, other_ids uuid[],
    expanded int, reach int, wanted_terms text[], filter mnemic.recall_filter, as_of timestamptz, with_vectors boolean,
    OUT found_ids uuid[], OUT counts int[], OUT found_conversations text[], OUT conversation_terms bigint[],
    OUT memory_ids uuid[], OUT conversations text[], OUT positions int[], OUT roles text[], OUT names text[],
    OUT channels text[], OUT bytes int[], OUT happened_at_s float8[], OUT confidences real[], OUT usefulnesses real[],
    OUT saliences real[], OUT anchored boolean[], OUT tenses int[], OUT terms bigint[], OUT words_ms float8,
    OUT vector_places int[], INOUT vectors anyarray, OUT sample_vectors anyarray
)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    vector_table text;
BEGIN
    found_ids := '{}';
    IF searched <> '{}' THEN
        SELECT words.memory_ids, words.counts, words.conversations, words.conversation_terms
        INTO found_ids, counts, found_conversations, conversation_terms
        FROM mnemic.find_words(wanted_owner, searched, weights, memory_total, filter, as_of, most) AS words;
    END IF;
    words_ms := extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000;
    SELECT evidence.*
    INTO memory_ids, conversations, positions, roles, names, channels, bytes, happened_at_s, confidences, usefulnesses,
        saliences, anchored, tenses, terms
    FROM mnemic.evidence(
        wanted_owner, found_ids || other_ids, found_ids[:expanded] || other_ids[:expanded], reach, wanted_terms, filter,
        as_of
    ) AS evidence;
    IF with_vectors THEN
        SELECT known.table_name INTO vector_table
        FROM vectors.tenant_models AS used JOIN mnemic.vector_models AS known ON known.model = used.model;
    END IF;
    IF vector_table IS NULL THEN
        RETURN;
    END IF;
    -- One look by key each, whatever the planner believes about the table.
    EXECUTE format(
        'SELECT array_agg(listed.place::int), array_agg(found.embedding)'
        ' FROM unnest($1) WITH ORDINALITY AS listed (memory_id, place)'
        ' CROSS JOIN LATERAL (SELECT embedding FROM vectors.%I AS stored'
        '   WHERE stored.tenant_id = $2 AND stored.memory_id = listed.memory_id OFFSET 0) AS found',
        vector_table
    )
    INTO vector_places, vectors USING memory_ids, of_tenant;
    EXECUTE format(
        'SELECT array_agg(found.embedding)'
        ' FROM vectors.owner_statistics AS kept'
        ' CROSS JOIN LATERAL unnest(kept.sample) AS drawn (memory_id)'
        ' CROSS JOIN LATERAL (SELECT embedding FROM vectors.%I AS stored'
        '   WHERE stored.tenant_id = $2 AND stored.memory_id = drawn.memory_id OFFSET 0) AS found'
        ' WHERE kept.tenant_id = $2 AND kept.owner = $1',
        vector_table
    )
    INTO sample_vectors USING wanted_owner, of_tenant;
END
$$;

-- The nearest in meaning (see mnemic.nearest), or `near` if somebody else has found them, and `ids`, with the turns
-- around the best `expanded` of both and all that ranking looks at. `near_cosines` go with `near_ids`, `other_cosines`
-- with `other_ids`, the rest of what has a vector. Without a vector nothing is near. If another model
-- serves than the vector's, nothing is done but to say which.
CREATE FUNCTION mnemic.recall_near(
    of_tenant uuid, wanted_owner text, by_model text, vector_table text, wanted anyelement, near uuid[], index_name text,
    ef_search int, most int, ids uuid[], expanded int, reach int, wanted_terms text[], filter mnemic.recall_filter,
    as_of timestamptz,
    OUT model text, OUT near_ids uuid[], OUT near_cosines real[], OUT mean float8, OUT deviation float8,
    OUT row_count bigint, OUT near_ms float8,
    OUT memory_ids uuid[], OUT conversations text[], OUT positions int[], OUT roles text[], OUT names text[],
    OUT channels text[], OUT bytes int[], OUT happened_at_s float8[], OUT confidences real[], OUT usefulnesses real[],
    OUT saliences real[], OUT anchored boolean[], OUT tenses int[], OUT terms bigint[],
    OUT other_ids uuid[], OUT other_cosines real[]
)
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    SELECT used.model INTO model FROM vectors.tenant_models AS used;
    IF model <> by_model THEN
        RETURN;
    END IF;
    near_ids := near;
    IF near_ids IS NULL AND wanted IS NOT NULL THEN
        SELECT found.memory_ids, found.cosines, found.mean, found.deviation, found.row_count
        INTO near_ids, near_cosines, mean, deviation, row_count
        FROM mnemic.nearest(of_tenant, wanted_owner, vector_table, wanted, index_name, ef_search, most) AS found;
    END IF;
    near_ids := coalesce(near_ids, '{}');
    near_ms := extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000;
    SELECT evidence.*
    INTO memory_ids, conversations, positions, roles, names, channels, bytes, happened_at_s, confidences, usefulnesses,
        saliences, anchored, tenses, terms
    FROM mnemic.evidence(
        wanted_owner, ids || near_ids, ids[:expanded] || near_ids[:expanded], reach, wanted_terms, filter, as_of
    ) AS evidence;
    IF wanted IS NULL THEN
        RETURN;
    END IF;
    other_ids := ARRAY(
        SELECT unnest(memory_ids)
        EXCEPT
        SELECT unnest(near_ids) WHERE near_cosines IS NOT NULL
    );
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

-- Memories by id as they are. A function keeps its plan, which must not read all memories when there are many.
CREATE FUNCTION mnemic.recall_records(of_tenant uuid, ids uuid[]) RETURNS SETOF state.memory_records
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT found.*
    FROM unnest(ids) AS given (memory_id)
    CROSS JOIN LATERAL (
        SELECT * FROM state.memory_records WHERE memory_records.memory_id = given.memory_id OFFSET 0
    ) AS found;
END
$$;
