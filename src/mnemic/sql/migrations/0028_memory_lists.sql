-- Lists of memories (mnemic.list_memories).

-- The filter of a list. NULL matches everything; a memory needs all `tags`. `words` are words that it must have, all of
-- them. `as_of` reads the memories as they were known then.
CREATE TYPE mnemic.memory_filter AS (
    ids uuid[],
    words text,
    categories text[],
    statuses text[],
    tags text[],
    sources text[],
    roles text[],
    names text[],
    channel text,
    conversation text,
    since timestamptz,
    until timestamptz,
    min_confidence real,
    never_recalled boolean,
    include_forgotten boolean,
    as_of timestamptz
);

-- The versions of an owner's memories in the order of a list. Only changes of memories write here; retain does not.
CREATE INDEX memory_versions_recent ON state.memory_versions (tenant_id, owner, memory_id DESC);
