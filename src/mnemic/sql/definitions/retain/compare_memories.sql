-- Compares some of an owner's memories that wait, the oldest first, and returns how many those were; 0 if none waits. Each is
-- linked to the one that is most like it, if that is like enough, among the owner's `before_most` that are next older. Of the
-- `after_most` that are next younger those count that do not wait: they were compared before this one could be
-- seen, since its transaction ended late. The others will meet it themselves. It runs with the caller's rights, behind the
-- tenant's policy, and has no search path of its own: pgvector's operators are wherever an administrator put them.
CREATE OR REPLACE FUNCTION mnemic.compare_memories(
    entered uuid, for_owner text, alike_from float8, before_most int, after_most int, most int
) RETURNS int
LANGUAGE plpgsql
AS $$
DECLARE
    -- The product of two vectors of length one is their cosine, but for what 16 bits lose, and it takes half the time.
    -- So it chooses who is looked at, generously, and the cosine decides.
    rounding CONSTANT float8 := 0.005;
    vector_table text := (SELECT used.table_name FROM mnemic.vectors_in_use() AS used);
    ids uuid[];
BEGIN
    -- One at a time for an owner: of two that compare at once each could take for granted that the other sees a memory. Each
    -- statement behind the lock sees what was committed before it.
    PERFORM pg_advisory_xact_lock(hashtextextended('mnemic.comparing ' || entered || ' ' || for_owner, 0));
    ids := ARRAY(
        SELECT waiting.memory_id FROM queue.uncompared AS waiting
        WHERE waiting.owner = for_owner ORDER BY waiting.memory_id LIMIT most
    );
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
            '        SELECT waiting.memory_id FROM queue.uncompared AS waiting'
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
            -- What is being erased at this moment is waited for, and then is not there.
            ' FOR KEY SHARE OF newer, older'
            ' ON CONFLICT DO NOTHING',
            vector_table
        )
        USING ids, for_owner, before_most, after_most, rounding - alike_from, alike_from, entered;
    END IF;
    DELETE FROM queue.uncompared AS waiting WHERE waiting.owner = for_owner AND waiting.memory_id = ANY (ids);
    RETURN cardinality(ids);
END
$$;
