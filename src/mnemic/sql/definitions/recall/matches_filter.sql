-- Whether a memory with these columns matches the filter of a recall. Inlined into the queries that call it.
CREATE OR REPLACE FUNCTION mnemic.matches_filter(
    filter mnemic.recall_filter, channel text, category text, tags text[], conversation text,
    happened_at timestamptz, confidence real, status text, deleted_at timestamptz, expires_at timestamptz,
    valid_from timestamptz, valid_to timestamptz, role text, name text, source text, metadata jsonb
) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN status = ANY((filter).statuses)
    AND deleted_at IS NULL
    AND coalesce(expires_at > (filter).moment, true)
    AND ((filter).channels IS NULL OR channel = ANY((filter).channels))
    AND ((filter).categories IS NULL OR category = ANY((filter).categories))
    AND ((filter).tags IS NULL OR tags @> (filter).tags)
    AND ((filter).any_tags IS NULL OR tags && (filter).any_tags)
    AND ((filter).conversation IS NULL OR conversation = (filter).conversation)
    AND ((filter).since IS NULL OR happened_at >= (filter).since)
    AND ((filter).until IS NULL OR happened_at < (filter).until)
    AND ((filter).min_confidence IS NULL OR confidence >= (filter).min_confidence)
    AND ((filter).role IS NULL OR role = (filter).role)
    AND ((filter).name IS NULL OR name = (filter).name)
    AND ((filter).source IS NULL OR source = (filter).source)
    -- The index on metadata has only memories with any; the planner needs its condition here.
    AND ((filter).metadata IS NULL OR metadata <> '{}' AND metadata @> (filter).metadata)
    AND (
        NOT (filter).valid_at_moment
        OR coalesce(valid_from <= (filter).moment, true) AND coalesce(valid_to > (filter).moment, true)
    );
