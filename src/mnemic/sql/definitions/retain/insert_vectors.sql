-- Stores vectors in the table of a model.
CREATE OR REPLACE FUNCTION mnemic.insert_vectors(
    entered uuid, for_owner text, vector_table text, ids uuid[], embeddings anyarray
) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    EXECUTE format(
        'INSERT INTO vectors.%I (tenant_id, memory_id, owner, embedding)'
        ' SELECT $1, given.memory_id, $2, given.embedding FROM unnest($3, $4) AS given (memory_id, embedding)',
        vector_table
    )
    USING entered, for_owner, ids, embeddings;
END
$$;
