-- stage: before tables
-- What makes two memories equal: the text; for a turn also its position in the conversation, since the same words
-- said twice are two turns; for a chunk also the text that it is part of. IMMUTABLE although convert_to() is only
-- STABLE: the encoding is named, so the result cannot change. In PL/pgSQL: PostgreSQL would parse the body of an
-- SQL function again for each statement that writes a memory, to see whether it can be inlined, which this one
-- cannot.
CREATE OR REPLACE FUNCTION mnemic.content_hash(
    content text, category text, conversation text, "position" int, whole_hash bytea, chunk_index int
) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN sha256(convert_to(
        CASE WHEN category = 'episodic' AND conversation IS NOT NULL
            THEN 'turn' || E'\n' || conversation || E'\n' || "position" ELSE '' END
        || CASE WHEN whole_hash IS NOT NULL
            THEN 'chunk' || E'\n' || encode(whole_hash, 'hex') || E'\n' || chunk_index ELSE '' END
        || E'\n' || content,
        'UTF8'
    ));
END
$$;
