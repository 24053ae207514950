-- The time as of which a recall reads a memory of this channel; NULL reads what is stored now. In a branch, the channels
-- outside of it are read as of the fork. Inlined into the queries that call it.
CREATE OR REPLACE FUNCTION mnemic.known_at(filter mnemic.recall_filter, channel text, as_of timestamptz)
RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN (filter).branch IS NULL THEN as_of
    -- least() ignores NULLs.
    ELSE least(as_of, (filter).past_times[array_position((filter).past_channels, channel)])
END;
