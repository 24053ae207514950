-- Inserts rows of state.memories, given as JSON, and returns the ids of those that were new: a row that conflicts with one
-- that exists is left out. The position of a turn is `first_position` plus its entry in `positions`. With `wholes` only
-- the chunks of those long texts are inserted.
--
-- The functions of this subject run with the caller's privileges and policies. They have no search_path of their
-- own: pgvector's operators are in a schema that the administrator chose, which is on the search path of Mnemic's
-- connections.
CREATE OR REPLACE FUNCTION mnemic.insert_memories(
    entered uuid, for_owner text, in_channel text, by_process text, items json, first_position int, positions int[],
    wholes uuid[]
) RETURNS uuid[]
LANGUAGE plpgsql
AS $$
DECLARE
    stored uuid[];
    -- `_global` is never a branch, so that most calls need not look.
    in_branch text := CASE WHEN in_channel <> '_global' THEN mnemic.hold_branch(entered, for_owner, in_channel) END;
BEGIN
    WITH fresh AS (
        INSERT INTO state.memories (
            tenant_id, memory_id, owner, channel, process, conversation, "position", role, name, content, category, tags,
            metadata, source, provenance, evidence, confidence, anchored, at, valid_from, valid_to, expires_at,
            whole_id, whole_hash, chunk_index, chunk_count, external_id, changed_by, branch
        )
        SELECT
            entered, given.memory_id, for_owner, in_channel, by_process, given.conversation, first_position + given."position",
            given.role, given.name, given.content, given.category, coalesce(given.tags, '{}'), coalesce(given.metadata, '{}'),
            given.source, given.provenance, coalesce(given.evidence, '{}'), given.confidence, given.anchored, given.at,
            given.valid_from, given.valid_to, given.expires_at, given.whole_id, decode(given.whole_hash, 'hex'),
            given.chunk_index, given.chunk_count, given.external_id, 'user', in_branch
        FROM ROWS FROM (
            json_to_recordset(items) AS (
                memory_id uuid, conversation text, role text, name text, content text, category text, tags text[],
                metadata jsonb, source text, provenance text, evidence text[], confidence real, anchored boolean,
                at timestamptz, valid_from timestamptz, valid_to timestamptz, expires_at timestamptz,
                whole_id uuid, whole_hash text, chunk_index int, chunk_count int, external_id text
            ),
            unnest(positions)
        ) AS given (
            memory_id, conversation, role, name, content, category, tags, metadata, source, provenance, evidence,
            confidence, anchored, at, valid_from, valid_to, expires_at, whole_id, whole_hash, chunk_index, chunk_count,
            external_id, "position"
        )
        WHERE wholes IS NULL OR given.whole_id = ANY (wholes)
        ON CONFLICT DO NOTHING
        RETURNING memories.memory_id
    )
    SELECT array_agg(fresh.memory_id) INTO stored FROM fresh;
    RETURN coalesce(stored, '{}');
END
$$;
