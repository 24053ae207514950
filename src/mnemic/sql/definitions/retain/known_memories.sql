-- Which of the given items an owner has already, by external id or by content; one row per match, matches by external
-- id first. `forgotten_at` is set if the memory was forgotten. `hashes` are hexadecimal content hashes separated by
-- blanks, because psycopg takes long to adapt an array of bytea. `in_branch` is the branch to look into, NULL for the
-- memories outside of branches.
--
-- LATERAL with OFFSET 0 makes it one index lookup per item, whatever the planner estimates; IS TRUE keeps the planner from
-- indexes on the owner alone. PostgreSQL inlines the function into the query that calls it.
CREATE OR REPLACE FUNCTION mnemic.known_memories(
    entered uuid, for_owner text, external_indexes int[], external_ids text[], hash_indexes int[], hashes text,
    in_branch text DEFAULT NULL
) RETURNS TABLE (index int, memory_id uuid, forgotten_at timestamptz)
LANGUAGE sql STABLE
AS $$
    SELECT wanted.index, known.memory_id, known.deleted_at
    FROM unnest(external_indexes, external_ids) AS wanted (index, external_id)
    CROSS JOIN LATERAL (
        SELECT memories.memory_id, memories.deleted_at FROM state.memories
        WHERE memories.tenant_id = entered AND memories.external_id = wanted.external_id
          AND (memories.owner = for_owner) IS TRUE AND coalesce(memories.chunk_index, 0) = 0
          AND (memories.branch IS NOT DISTINCT FROM in_branch) IS TRUE
        OFFSET 0
    ) AS known
    UNION ALL
    SELECT wanted.index, known.memory_id, NULL
    FROM unnest(hash_indexes, string_to_array(hashes, ' ')) AS wanted (index, content_hash)
    CROSS JOIN LATERAL (
        SELECT memories.memory_id FROM state.memories
        WHERE memories.tenant_id = entered AND memories.content_hash = decode(wanted.content_hash, 'hex')
          AND (memories.owner = for_owner) IS TRUE AND memories.status = 'active' AND memories.deleted_at IS NULL
          AND coalesce(memories.chunk_index, 0) = 0 AND (memories.branch IS NOT DISTINCT FROM in_branch) IS TRUE
        OFFSET 0
    ) AS known
$$;
