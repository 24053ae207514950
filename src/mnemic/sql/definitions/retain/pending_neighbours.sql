-- The next memories of an owner in the deduplication backlog, oldest first, and for each that can be a statement (short,
-- no part of a longer text or document) its nearest memories with their cosines, best first, and the statistics of all
-- cosines that were compared: with the `before_most` next older and the `after_most` next younger memories. Holds the
-- lock of the owner's comparisons until the transaction ends. Runs with the caller's privileges and policies, without
-- a search_path of its own, since pgvector's operators are in a schema that the administrator chose.
CREATE OR REPLACE FUNCTION mnemic.pending_neighbours(
    entered uuid, for_owner text, statement_most int, before_most int, after_most int, near_most int, most int
)
RETURNS TABLE (
    memory_id uuid, near_ids uuid[], cosines float8[], mean float8, deviation float8, compared_count bigint
)
LANGUAGE plpgsql
AS $$
DECLARE
    vector_table text := (SELECT used.table_name FROM mnemic.vector_tables_in_use() AS used);
    ids uuid[];
BEGIN
    -- One session per owner: of two at once, each could leave a comparison to the other. Each statement after the lock
    -- sees what was committed before it.
    PERFORM pg_advisory_xact_lock(hashtextextended('mnemic.comparing ' || entered || ' ' || for_owner, 0));
    ids := ARRAY(
        SELECT waiting.memory_id FROM queue.deduplication_backlog AS waiting
        WHERE waiting.tenant_id = entered AND waiting.owner = for_owner ORDER BY waiting.memory_id LIMIT most
    );
    IF ids = '{}' OR vector_table IS NULL THEN
        RETURN QUERY SELECT given.id, NULL::uuid[], NULL::float8[], NULL::float8, NULL::float8, NULL::bigint
        FROM unnest(ids) AS given (id);
        RETURN;
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT given.memory_id, around.near_ids, around.cosines, around.mean, around.deviation, around.compared_count'
        ' FROM unnest($1) AS given (memory_id)'
        ' LEFT JOIN LATERAL ('
        '   WITH compared AS MATERIALIZED ('
        '     SELECT near.memory_id, 1 - (near.embedding <=> own.embedding) AS cosine'
        '     FROM ('
        '       SELECT embedding FROM vectors.%1$I AS stored'
        '       WHERE stored.memory_id = given.memory_id AND EXISTS ('
        '         SELECT FROM state.memories WHERE memories.tenant_id = $2 AND memories.memory_id = given.memory_id'
        '           AND category <> ''reference'' AND whole_id IS NULL AND octet_length(content) <= $3'
        '       )'
        '       LIMIT 1'
        '     ) AS own'
        '     CROSS JOIN LATERAL ('
        '       (SELECT memory_id, embedding FROM vectors.%1$I'
        '        WHERE owner = $4 AND memory_id < given.memory_id ORDER BY memory_id DESC LIMIT $5)'
        '       UNION ALL'
        '       (SELECT memory_id, embedding FROM vectors.%1$I'
        '        WHERE owner = $4 AND memory_id > given.memory_id ORDER BY memory_id LIMIT $6)'
        '     ) AS near'
        '   )'
        '   SELECT'
        '     (SELECT array_agg(best.memory_id ORDER BY best.cosine DESC, best.memory_id) FROM ('
        '        SELECT * FROM compared ORDER BY cosine DESC, memory_id LIMIT $7) AS best) AS near_ids,'
        '     (SELECT array_agg(best.cosine ORDER BY best.cosine DESC, best.memory_id) FROM ('
        '        SELECT * FROM compared ORDER BY cosine DESC, memory_id LIMIT $7) AS best) AS cosines,'
        '     avg(cosine) AS mean, stddev_pop(cosine) AS deviation, count(*) AS compared_count'
        '   FROM compared'
        ' ) AS around ON true',
        vector_table
    )
    USING ids, entered, statement_most, for_owner, before_most, after_most, near_most;
END
$$;
