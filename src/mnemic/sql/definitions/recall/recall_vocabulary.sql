-- The indexed words of an owner whose length lies between two bounds, the most frequent first, separated by spaces: from the
-- word statistics, or, of an owner without them, from its newest memories. For the reader of a grant (`granted` is not NULL) only from memories that
-- the grant covers and that match the filter.
CREATE OR REPLACE FUNCTION mnemic.recall_vocabulary(
    of_tenant uuid, wanted_owner text, shortest int, longest int, memories_max int,
    words_max int, filter mnemic.recall_filter, granted mnemic.recall_filter, as_of timestamptz
)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    has_statistics boolean := (granted).statuses IS NULL AND EXISTS (
        SELECT FROM vectors.owner_statistics AS kept
        WHERE kept.tenant_id = of_tenant AND kept.owner = wanted_owner
    );
BEGIN
    IF has_statistics THEN
        RETURN (
            SELECT string_agg(kept.word, ' ' ORDER BY kept.memory_count DESC, kept.word)
            FROM (
                SELECT listed.word, listed.memory_count
                FROM vectors.word_statistics AS listed
                WHERE listed.tenant_id = of_tenant AND listed.owner = wanted_owner
                  AND char_length(listed.word) BETWEEN shortest AND longest
                ORDER BY listed.memory_count DESC
                LIMIT words_max
            ) AS kept
        );
    END IF;
    RETURN (
        WITH read AS MATERIALIZED (
            SELECT own.words
            FROM (
                SELECT memories.words FROM state.memories
                WHERE (granted).statuses IS NULL AND memories.tenant_id = of_tenant AND memories.owner = wanted_owner
                  AND memories.deleted_at IS NULL
                ORDER BY memories.memory_id DESC
                LIMIT memories_max
            ) AS own
            UNION ALL
            SELECT covered.words
            FROM (
                SELECT found.memory_id
                FROM mnemic.granted_memories(of_tenant, wanted_owner, filter, granted, as_of) AS found
                WHERE (granted).statuses IS NOT NULL
                ORDER BY found.memory_id DESC
                LIMIT memories_max
            ) AS shared
            JOIN state.memories AS covered ON covered.tenant_id = of_tenant AND covered.memory_id = shared.memory_id
        )
        SELECT string_agg(listed.word, ' ' ORDER BY listed.memory_count DESC, listed.word)
        FROM (
            SELECT indexed.word, count(*) AS memory_count
            FROM read CROSS JOIN LATERAL unnest(tsvector_to_array(read.words)) AS indexed (word)
            WHERE char_length(indexed.word) BETWEEN shortest AND longest
            GROUP BY indexed.word
            ORDER BY count(*) DESC
            LIMIT words_max
        ) AS listed
    );
END
$$;
GRANT EXECUTE ON FUNCTION mnemic.recall_vocabulary(
    uuid, text, int, int, int, int, mnemic.recall_filter, mnemic.recall_filter, timestamptz
) TO mnemic_app;
