-- Whether a memory with these columns matches the filter of a list. Inlined into the queries that call it. Words, channels,
-- times of knowledge and recall counts are compared by mnemic.listed_memories.
CREATE OR REPLACE FUNCTION mnemic.is_listed(
    filter mnemic.memory_filter, category text, status text, tags text[], source text, role text, name text,
    conversation text, happened_at timestamptz, confidence real, deleted_at timestamptz
) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (coalesce((filter).include_forgotten, false) OR deleted_at IS NULL)
    AND ((filter).statuses IS NULL OR status = ANY((filter).statuses))
    AND ((filter).categories IS NULL OR category = ANY((filter).categories))
    AND ((filter).sources IS NULL OR source = ANY((filter).sources))
    AND ((filter).roles IS NULL OR role = ANY((filter).roles))
    AND ((filter).names IS NULL OR name = ANY((filter).names))
    AND ((filter).conversation IS NULL OR conversation = (filter).conversation)
    AND ((filter).since IS NULL OR happened_at >= (filter).since)
    AND ((filter).until IS NULL OR happened_at < (filter).until)
    AND ((filter).min_confidence IS NULL OR confidence >= (filter).min_confidence)
    AND ((filter).tags IS NULL OR tags @> (filter).tags);
