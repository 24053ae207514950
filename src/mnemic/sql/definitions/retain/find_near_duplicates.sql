-- Deduplicates some memories of an owner from the backlog (`ids`, see mnemic.pending_neighbours) and removes them from it.
-- Each memory is linked to the most similar one, if it is similar enough, among the `before_most` next
-- older ones and among those of the `after_most` next younger ones that are not in the backlog: those were
-- compared before this memory was visible, because its transaction committed late. The others will be compared
-- with it themselves. Runs with the caller's privileges and policies, without a search_path of its own, since
-- pgvector's operators are in a schema that the administrator chose.
CREATE OR REPLACE FUNCTION mnemic.find_near_duplicates(
    entered uuid, for_owner text, ids uuid[], alike_from float8, before_most int, after_most int
) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    -- The inner product of unit vectors is their cosine, except for 16-bit rounding, and takes half the time. So it
    -- preselects with a margin, and the cosine decides.
    rounding CONSTANT float8 := 0.005;
    vector_table text := (SELECT used.table_name FROM mnemic.vector_tables_in_use() AS used);
BEGIN
    IF ids <> '{}' AND vector_table IS NOT NULL THEN
        EXECUTE format(
            'WITH pairs AS MATERIALIZED ('
            '  SELECT greatest(given.memory_id, most_alike.memory_id) AS memory_id,'
            '    least(given.memory_id, most_alike.memory_id) AS like_id, max(most_alike.similarity) AS similarity'
            '  FROM unnest($1) AS given (memory_id)'
            '  CROSS JOIN LATERAL ('
            '    SELECT embedding FROM vectors.%1$I AS stored WHERE stored.memory_id = given.memory_id LIMIT 1'
            '  ) AS own'
            '  CROSS JOIN LATERAL ('
            '    SELECT near.memory_id, 1 - (near.embedding <=> own.embedding) AS similarity'
            '    FROM ('
            '      (SELECT memory_id, embedding, false AS is_younger FROM vectors.%1$I'
            '       WHERE owner = $2 AND memory_id < given.memory_id ORDER BY memory_id DESC LIMIT $3)'
            '      UNION ALL'
            '      (SELECT memory_id, embedding, true FROM vectors.%1$I'
            '       WHERE owner = $2 AND memory_id > given.memory_id ORDER BY memory_id LIMIT $4)'
            '    ) AS near'
            '    WHERE near.embedding <#> own.embedding <= $5'
            '      AND (NOT near.is_younger OR ('
            '        SELECT waiting.memory_id FROM queue.deduplication_backlog AS waiting'
            '        WHERE waiting.owner = $2 AND waiting.memory_id = near.memory_id'
            '      ) IS NULL)'
            '    ORDER BY near.embedding <=> own.embedding LIMIT 1'
            '  ) AS most_alike'
            '  WHERE most_alike.similarity >= $6'
            '  GROUP BY 1, 2'
            ') '
            'INSERT INTO state.near_duplicates (tenant_id, memory_id, like_id, similarity)'
            ' SELECT $7, pairs.memory_id, pairs.like_id, least(1, pairs.similarity)'
            ' FROM pairs'
            ' JOIN state.memories AS newer ON newer.memory_id = pairs.memory_id'
            ' JOIN state.memories AS older ON older.memory_id = pairs.like_id'
            -- Wait for a concurrent deletion; a deleted row is then not found.
            ' FOR KEY SHARE OF newer, older'
            ' ON CONFLICT DO NOTHING',
            vector_table
        )
        USING ids, for_owner, before_most, after_most, rounding - alike_from, alike_from, entered;
    END IF;
    DELETE FROM queue.deduplication_backlog AS waiting WHERE waiting.owner = for_owner AND waiting.memory_id = ANY (ids);
END
$$;
