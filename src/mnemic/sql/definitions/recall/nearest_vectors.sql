-- The nearest memories of an owner: by the owner's index if it is valid, else by comparing with all vectors of the
-- owner, with mean and standard deviation of the cosines and the number of vectors. Planned in every call: a plan
-- for any owner could not use an owner's index. Without statistics about owners the planner estimates few rows and
-- would sort. pgvector before 0.8 has no iterative scan and returns at most `ef_search` rows.
--
-- Recall is two statements, each a signed transaction of its own (docs/adr/0017): recall_terms and recall_by_terms
-- run while the query is embedded; recall_by_vector needs the query embedding, and the same statement reads the features of
-- all candidates. A third, recall_records, reads long records that were selected. Their functions
-- run with the caller's privileges and policies; the first argument is the result of mnemic.authenticate_tenant,
-- so that it is evaluated first. Functions that use vectors have no search_path of their own: pgvector's operators
-- are in a schema that the administrator chose, which is on the search path of Mnemic's connections. All but this
-- one, which changes settings, are STABLE: each reads one snapshot, so that model and vectors belong together and
-- a change of model waits for nobody.
CREATE OR REPLACE FUNCTION mnemic.nearest_vectors(
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
        -- Iterative scans return rows in relaxed order, so sort again.
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
