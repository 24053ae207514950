-- Memories: everything that can be recalled is one row here. A turn, a fact, a preference, a
-- strategy, a chunk of a document share one life cycle, one history and one erasure.
--
-- Life cycle (`status`):
--   active          recalled
--   pending_review  held back until somebody decides, for example a claim against an anchored fact
--   superseded      a newer memory took its place (`superseded_by`)
--   merged          became part of another one (`merged_into`)
--   archived        kept, not recalled
-- Any of them may be `deleted_at`: forgotten, yet restorable until it is erased.
--
-- Two clocks: `valid_from` to `valid_to` is when it was true, `recorded_at` is since when we have
-- known it in this wording. What we knew before is in state.memory_versions.

CREATE TABLE state.conversations (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    conversation text NOT NULL CHECK (char_length(conversation) BETWEEN 1 AND 256),
    channel text NOT NULL,
    turn_count int NOT NULL DEFAULT 0 CHECK (turn_count >= 0),
    metadata jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(metadata) = 'object'),
    started_at timestamptz NOT NULL DEFAULT now(),
    last_turn_at timestamptz NOT NULL DEFAULT now(),
    archived_at timestamptz,
    PRIMARY KEY (tenant_id, owner, conversation)
);
COMMENT ON TABLE state.conversations IS 'Who talked when; the turns themselves are memories.';
CREATE INDEX conversations_recent ON state.conversations (tenant_id, owner, last_turn_at DESC);
-- Not to be deleted by the application: its turns, and their history, would go along.
CALL mnemic.protect('state.conversations', 'SELECT, INSERT');
GRANT UPDATE (turn_count, metadata, started_at, last_turn_at, archived_at) ON state.conversations TO mnemic_app;

-- What makes two memories the same: the words; for a turn also its place in the conversation, since
-- the same words said twice are two turns; for a chunk also the whole that it is part of.
-- IMMUTABLE although convert_to() is only STABLE: the encoding is named, so nothing can change it.
CREATE FUNCTION mnemic.content_hash(
    content text, category text, conversation text, "position" int, whole_hash bytea, chunk_index int
) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256(convert_to(
    CASE WHEN category = 'episodic' AND conversation IS NOT NULL
        THEN 'turn' || E'\n' || conversation || E'\n' || "position" ELSE '' END
    || CASE WHEN whole_hash IS NOT NULL
        THEN 'chunk' || E'\n' || encode(whole_hash, 'hex') || E'\n' || chunk_index ELSE '' END
    || E'\n' || content,
    'UTF8'
));

-- Tags as they are stored: 1 to 64 characters, no blanks around, no capitals, none twice. Letters
-- beyond ASCII are lowered by Mnemic alone: how a server lowers them depends on its locale.
CREATE FUNCTION mnemic.are_tags(tags text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT count(DISTINCT tag) = cardinality(tags)
        AND coalesce(bool_and(char_length(tag) BETWEEN 1 AND 64 AND tag = btrim(tag) AND tag !~ '[A-Z]'), true)
    FROM unnest(tags) AS tag
);

CREATE TABLE state.memories (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL DEFAULT mnemic.new_id(),
    version int NOT NULL DEFAULT 1 CHECK (version > 0),

    -- Whose, where, by whom.
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    channel text NOT NULL CHECK (char_length(channel) BETWEEN 1 AND 256),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    conversation text,
    "position" int CHECK ("position" >= 0),
    role text CHECK (char_length(role) BETWEEN 1 AND 64),
    name text CHECK (char_length(name) BETWEEN 1 AND 256),

    -- What.
    content text NOT NULL CHECK (char_length(content) BETWEEN 1 AND 8192),
    category text NOT NULL CHECK (
        category IN ('factual', 'preference', 'behavioral', 'episodic', 'procedural', 'reference', 'prospective')
    ),
    tags text[] NOT NULL DEFAULT '{}' CHECK (tags = '{}' OR mnemic.are_tags(tags)),
    metadata jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(metadata) = 'object'),

    -- How far to trust it, and why.
    source text NOT NULL CHECK (source IN ('extracted', 'user_provided', 'imported', 'inferred')),
    provenance text NOT NULL DEFAULT 'witnessed' CHECK (provenance IN ('measured', 'reasoned', 'witnessed')),
    evidence text[] NOT NULL DEFAULT '{}',
    confidence real NOT NULL DEFAULT 1 CHECK (confidence BETWEEN 0 AND 1),
    anchored boolean NOT NULL DEFAULT false,

    -- Life.
    status text NOT NULL DEFAULT 'active' CHECK (
        status IN ('active', 'superseded', 'merged', 'archived', 'pending_review')
    ),
    superseded_by uuid,
    merged_into uuid,
    at timestamptz,
    valid_from timestamptz,
    valid_to timestamptz,
    expires_at timestamptz,
    deleted_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    recorded_at timestamptz NOT NULL DEFAULT now(),
    changed_by text NOT NULL DEFAULT 'user' CHECK (
        changed_by IN ('extraction', 'user', 'system', 'conflict_resolution')
    ),
    change_reason text CHECK (char_length(change_reason) <= 1024),

    -- Parts of a longer text: the chunks of one whole give it back when joined by index.
    whole_id uuid,
    whole_hash bytea,
    chunk_index int,
    chunk_count int,
    external_id text CHECK (char_length(external_id) BETWEEN 1 AND 512),

    -- Use. Counted often, so changes here make no version.
    usefulness real NOT NULL DEFAULT 0.5 CHECK (usefulness BETWEEN 0 AND 1),
    salience real NOT NULL DEFAULT 0.5 CHECK (salience BETWEEN 0 AND 1),
    reinforcement_count int NOT NULL DEFAULT 0 CHECK (reinforcement_count >= 0),
    retrieval_count int NOT NULL DEFAULT 0 CHECK (retrieval_count >= 0),
    last_retrieved_at timestamptz,
    last_injected_at timestamptz,

    content_hash bytea NOT NULL GENERATED ALWAYS AS (
        mnemic.content_hash(content, category, conversation, "position", whole_hash, chunk_index)
    ) STORED,
    words tsvector NOT NULL GENERATED ALWAYS AS (
        to_tsvector('english', coalesce(name || ': ', '') || content)
    ) STORED,

    PRIMARY KEY (tenant_id, memory_id),
    FOREIGN KEY (tenant_id) REFERENCES state.tenants,
    FOREIGN KEY (tenant_id, owner, conversation) REFERENCES state.conversations ON DELETE CASCADE,
    -- Deferrable, so that an import may bring them in any order.
    FOREIGN KEY (tenant_id, superseded_by) REFERENCES state.memories ON DELETE SET NULL (superseded_by) DEFERRABLE,
    FOREIGN KEY (tenant_id, merged_into) REFERENCES state.memories ON DELETE SET NULL (merged_into) DEFERRABLE,
    CONSTRAINT valid_period CHECK (valid_to > valid_from),
    CONSTRAINT turns_have_a_position CHECK ((conversation IS NULL) = ("position" IS NULL)),
    CONSTRAINT superseded_by_another CHECK (superseded_by <> memory_id),
    CONSTRAINT merged_into_another CHECK (merged_into <> memory_id),
    CONSTRAINT chunks_are_counted CHECK (
        (whole_id IS NULL AND whole_hash IS NULL AND chunk_index IS NULL AND chunk_count IS NULL)
        OR (whole_id IS NOT NULL AND whole_hash IS NOT NULL AND chunk_index >= 0 AND chunk_index < chunk_count)
    )
);
COMMENT ON TABLE state.memories IS 'Everything that can be recalled, one row each.';

-- No exact duplicate among what an owner has that is alive. A text of several chunks is known by its first
-- one, so that a text is there whole or not at all: its other chunks cannot be duplicates of anything.
-- The owner stands last in both indexes: without statistics the planner takes an owner for as rare as a hash,
-- and would look through all of an owner's memories instead (see the query retain.known).
CREATE UNIQUE INDEX memories_content ON state.memories (tenant_id, content_hash, owner)
WHERE status = 'active' AND deleted_at IS NULL AND coalesce(chunk_index, 0) = 0;
-- A repeated import finds what it imported before, also when that was forgotten in the meantime.
CREATE UNIQUE INDEX memories_external ON state.memories (tenant_id, external_id, owner)
WHERE external_id IS NOT NULL AND coalesce(chunk_index, 0) = 0;
CREATE UNIQUE INDEX memories_turn ON state.memories (tenant_id, owner, conversation, "position", chunk_index) NULLS NOT DISTINCT
WHERE conversation IS NOT NULL;
CREATE INDEX memories_browse ON state.memories (tenant_id, owner, category, memory_id DESC);
CREATE INDEX memories_recent ON state.memories (tenant_id, owner, memory_id DESC);
CREATE INDEX memories_whole ON state.memories (tenant_id, whole_id, chunk_index) WHERE whole_id IS NOT NULL;
CREATE INDEX memories_superseded_by ON state.memories (tenant_id, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memories_merged_into ON state.memories (tenant_id, merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX memories_words ON state.memories USING gin (words);

-- What a memory was before each change. The newest state is in state.memories; together they are
-- the whole history, numbered without gaps. The same columns in the same order, plus until when.
CREATE TABLE state.memory_versions (
    known_until timestamptz NOT NULL DEFAULT now(),
    LIKE state.memories,
    PRIMARY KEY (tenant_id, memory_id, version),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE
);
COMMENT ON TABLE state.memory_versions IS 'What memories were before each change; written by the database, never changed.';
CREATE INDEX memory_versions_period ON state.memory_versions (tenant_id, owner, recorded_at, known_until);
CALL mnemic.protect('state.memories', 'SELECT, INSERT');
CALL mnemic.protect('state.memory_versions', 'SELECT');

-- What identifies a memory never changes; the rest may.
GRANT UPDATE (
    channel, content, category, tags, metadata, source, provenance, evidence, confidence, anchored, status,
    superseded_by, merged_into, at, valid_from, valid_to, expires_at, deleted_at, changed_by, change_reason,
    usefulness, salience, reinforcement_count, retrieval_count, last_retrieved_at, last_injected_at
) ON state.memories TO mnemic_app;

-- Numbers the new state and keeps the old one. It runs as mnemic_definer because the application may
-- not write history itself; the tenant's policy holds for it all the same. The moment is that of the
-- change, not of the transaction: one that began earlier may have waited for the row, and the periods of
-- two versions must not overlap. It never goes back, even if the clock does.
GRANT INSERT ON state.memory_versions TO mnemic_definer;
CREATE FUNCTION mnemic.keep_version() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    changed_at timestamptz := greatest(clock_timestamp(), OLD.recorded_at + interval '1 microsecond');
BEGIN
    INSERT INTO state.memory_versions SELECT changed_at, OLD.*;
    NEW.version := OLD.version + 1;
    NEW.recorded_at := changed_at;
    RETURN NEW;
END
$$;
CALL mnemic.seal('mnemic.keep_version()', 'mnemic_definer');

CREATE TRIGGER keep_version BEFORE UPDATE ON state.memories FOR EACH ROW
WHEN (
    (OLD.channel, OLD.content, OLD.category, OLD.tags, OLD.metadata, OLD.source, OLD.provenance, OLD.evidence,
     OLD.confidence, OLD.anchored, OLD.status, OLD.superseded_by, OLD.merged_into, OLD.at, OLD.valid_from,
     OLD.valid_to, OLD.expires_at, OLD.deleted_at)
    IS DISTINCT FROM
    (NEW.channel, NEW.content, NEW.category, NEW.tags, NEW.metadata, NEW.source, NEW.provenance, NEW.evidence,
     NEW.confidence, NEW.anchored, NEW.status, NEW.superseded_by, NEW.merged_into, NEW.at, NEW.valid_from,
     NEW.valid_to, NEW.expires_at, NEW.deleted_at)
)
EXECUTE FUNCTION mnemic.keep_version();

-- A memory as the SDK hands it out. Views run with the rights of whoever asks, so the wall stands.
CREATE VIEW state.memory_records WITH (security_invoker = true) AS
SELECT
    memory_id, version, owner, channel, process, conversation, "position", role, name, content, category, tags, metadata,
    source, provenance, evidence, confidence, anchored, status, superseded_by, merged_into, at, valid_from, valid_to,
    expires_at, deleted_at, created_at, recorded_at, changed_by, change_reason, whole_id, chunk_index, chunk_count,
    external_id, usefulness, salience, reinforcement_count, retrieval_count, last_retrieved_at,
    last_injected_at
FROM state.memories;

-- All that a memory is and was, one row per version.
CREATE VIEW state.memory_history WITH (security_invoker = true) AS
SELECT
    memory_id, version, owner, channel, process, conversation, "position", role, name, content, category, tags, metadata,
    source, provenance, evidence, confidence, anchored, status, superseded_by, merged_into, at, valid_from, valid_to,
    expires_at, deleted_at, created_at, recorded_at, changed_by, change_reason, whole_id, chunk_index, chunk_count,
    external_id, usefulness, salience, reinforcement_count, retrieval_count, last_retrieved_at,
    last_injected_at,
    known_until
FROM state.memory_versions
UNION ALL
SELECT
    memory_id, version, owner, channel, process, conversation, "position", role, name, content, category, tags, metadata,
    source, provenance, evidence, confidence, anchored, status, superseded_by, merged_into, at, valid_from, valid_to,
    expires_at, deleted_at, created_at, recorded_at, changed_by, change_reason, whole_id, chunk_index, chunk_count,
    external_id, usefulness, salience, reinforcement_count, retrieval_count, last_retrieved_at,
    last_injected_at,
    NULL
FROM state.memories;
GRANT SELECT ON state.memory_records, state.memory_history TO mnemic_app;

CREATE TABLE state.memory_relationships (
    tenant_id uuid NOT NULL,
    from_id uuid NOT NULL,
    to_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('supports', 'contradicts', 'supersedes', 'refines', 'co_occurs', 'derived_from')),
    confidence real NOT NULL DEFAULT 1 CHECK (confidence BETWEEN 0 AND 1),
    process text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, from_id, to_id, kind),
    FOREIGN KEY (tenant_id, from_id) REFERENCES state.memories ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, to_id) REFERENCES state.memories ON DELETE CASCADE,
    CONSTRAINT no_self_loop CHECK (from_id <> to_id)
);
CREATE INDEX memory_relationships_to ON state.memory_relationships (tenant_id, to_id);
CALL mnemic.protect('state.memory_relationships');

-- Pairs that look alike, kept apart until somebody decides.
CREATE TABLE state.near_duplicates (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    like_id uuid NOT NULL,
    similarity real NOT NULL CHECK (similarity BETWEEN 0 AND 1),
    decision text NOT NULL DEFAULT 'pending' CHECK (decision IN ('pending', 'distinct', 'merged')),
    found_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, memory_id, like_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, like_id) REFERENCES state.memories ON DELETE CASCADE,
    CONSTRAINT no_self_loop CHECK (memory_id <> like_id)
);
CREATE INDEX near_duplicates_like ON state.near_duplicates (tenant_id, like_id);
CREATE INDEX near_duplicates_pending ON state.near_duplicates (tenant_id, found_at) WHERE decision = 'pending';
CALL mnemic.protect('state.near_duplicates');

CREATE TABLE state.tool_invocations (
    tenant_id uuid NOT NULL,
    invocation_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL,
    conversation text NOT NULL,
    memory_id uuid,
    tool text NOT NULL CHECK (char_length(tool) BETWEEN 1 AND 256),
    arguments jsonb NOT NULL DEFAULT '{}',
    result text,
    succeeded boolean NOT NULL,
    duration_ms real CHECK (duration_ms >= 0),
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, invocation_id),
    FOREIGN KEY (tenant_id, owner, conversation) REFERENCES state.conversations ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE
);
COMMENT ON TABLE state.tool_invocations IS 'Tools that were called in a conversation, and what came of it.';
CREATE INDEX tool_invocations_conversation ON state.tool_invocations (tenant_id, owner, conversation, at);
CREATE INDEX tool_invocations_memory ON state.tool_invocations (tenant_id, memory_id);
CALL mnemic.protect('state.tool_invocations', 'SELECT, INSERT');
