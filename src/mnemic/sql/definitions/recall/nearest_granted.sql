-- Vector search for the reader of a grant: compares the query with the vectors of the granted memories and of no others,
-- and returns the nearest, with mean and standard deviation of all their cosines and their number. An owner's index is
-- not used: which memories it finds depends on all vectors in it. LATERAL and OFFSET 0 force one primary key lookup per
-- memory.
CREATE OR REPLACE FUNCTION mnemic.nearest_granted(
    of_tenant uuid, wanted_owner text, filter mnemic.recall_filter, granted mnemic.recall_filter, as_of timestamptz,
    vector_table text, wanted anyelement, most int,
    OUT memory_ids uuid[], OUT mean float8, OUT deviation float8, OUT row_count bigint
)
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    EXECUTE format(
        'WITH scored AS MATERIALIZED ('
        '   SELECT covered.memory_id, 1 - (found.embedding <=> $1) AS cosine'
        '   FROM mnemic.granted_memories($2, $3, $4, $5, $6) AS covered'
        '   CROSS JOIN LATERAL (SELECT embedding FROM vectors.%I AS stored'
        '     WHERE stored.tenant_id = $2 AND stored.memory_id = covered.memory_id OFFSET 0) AS found'
        ' )'
        ' SELECT ARRAY(SELECT memory_id FROM scored ORDER BY cosine DESC, memory_id LIMIT $7),'
        '   avg(cosine), stddev_pop(cosine)::float8, count(*) FROM scored',
        vector_table
    )
    INTO memory_ids, mean, deviation, row_count USING wanted, of_tenant, wanted_owner, filter, granted, as_of, most;
END
$$;
