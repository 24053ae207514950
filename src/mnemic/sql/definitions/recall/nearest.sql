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
CREATE OR REPLACE FUNCTION mnemic.nearest(
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
