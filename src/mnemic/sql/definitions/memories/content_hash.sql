-- stage: before tables
-- @@0002
-- What makes two memories the same: the words; for a turn also its place in the conversation, since
-- the same words said twice are two turns; for a chunk also the whole that it is part of.
-- IMMUTABLE although convert_to() is only STABLE: the encoding is named, so nothing can change it.
-- @@0026
-- The hash of a memory, and what tags are, as in migration 0002. PostgreSQL reads the body of a function in SQL anew for
-- each statement that writes a memory, to see whether it can be part of the statement, which these cannot.
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
