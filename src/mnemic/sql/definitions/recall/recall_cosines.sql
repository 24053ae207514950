-- The cosines of those of the `ids` that have a vector and are not among the `known_ids`, whose cosines are known; and
-- statistics of the cosines of a random sample of the vectors of `sample_owner`, if that is given.
CREATE OR REPLACE FUNCTION mnemic.recall_cosines(
    of_tenant uuid, vector_table text, wanted anyelement, ids uuid[], known_ids uuid[], sample_owner text,
    OUT other_ids uuid[], OUT other_cosines real[], OUT sample_mean float8, OUT sample_deviation float8,
    OUT sample_count bigint
)
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF wanted IS NULL THEN
        RETURN;
    END IF;
    other_ids := ARRAY(SELECT unnest(ids) EXCEPT SELECT unnest(known_ids));
    IF other_ids <> '{}' OR sample_owner IS NOT NULL THEN
        -- LATERAL and OFFSET 0 force one primary key lookup per memory, whatever the planner estimates.
        EXECUTE format(
            'SELECT array_agg(listed.memory_id) FILTER (WHERE NOT listed.is_sample),'
            '   array_agg(found.cosine::real) FILTER (WHERE NOT listed.is_sample),'
            '   avg(found.cosine) FILTER (WHERE listed.is_sample),'
            '   stddev_pop(found.cosine) FILTER (WHERE listed.is_sample),'
            '   count(*) FILTER (WHERE listed.is_sample)'
            ' FROM ('
            '   SELECT memory_id, false AS is_sample FROM unnest($1) AS given (memory_id)'
            '   UNION ALL'
            '   SELECT unnest(sample), true FROM vectors.owner_statistics WHERE tenant_id = $3 AND owner = $4'
            ' ) AS listed'
            ' CROSS JOIN LATERAL (SELECT 1 - (embedding <=> $2) AS cosine FROM vectors.%I AS stored'
            '   WHERE stored.tenant_id = $3 AND stored.memory_id = listed.memory_id OFFSET 0) AS found',
            vector_table
        )
        INTO other_ids, other_cosines, sample_mean, sample_deviation, sample_count
        USING other_ids, wanted, of_tenant, sample_owner;
    END IF;
END
$$;
