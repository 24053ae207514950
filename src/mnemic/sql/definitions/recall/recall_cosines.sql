-- The cosines of those of the `ids` that have a vector and are not among the `known_ids`, whose cosines are known.
CREATE OR REPLACE FUNCTION mnemic.recall_cosines(
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
        -- LATERAL and OFFSET 0 force one primary key lookup per memory, whatever the planner estimates.
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
