-- The vectors of candidates, for a query whose embedding is not known yet: `vectors` belong to the memories at
-- `vector_places`; `sample_vectors` are a random sample of the vectors of `sample_owner`, if that is given.
-- `vector_model` made them: the caller compares it with the model that embeds its query. All are NULL unless `is_wanted`.
CREATE OR REPLACE FUNCTION mnemic.recall_vectors(
    of_tenant uuid, sample_owner text, ids uuid[], is_wanted boolean,
    OUT vector_model text, OUT vector_places int[], INOUT vectors anyarray, OUT sample_vectors anyarray
)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    vector_table text;
BEGIN
    IF is_wanted THEN
        SELECT known.model, known.table_name INTO vector_model, vector_table
        FROM vectors.tenant_models AS used JOIN mnemic.vector_models AS known ON known.model = used.model;
    END IF;
    IF vector_table IS NULL THEN
        RETURN;
    END IF;
    -- LATERAL and OFFSET 0 force one primary key lookup per memory, whatever the planner estimates. Rows of the random
    -- sample have no place.
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
    INTO vector_places, vectors, sample_vectors USING ids, sample_owner, of_tenant;
END
$$;
