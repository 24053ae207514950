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
CALL mnemic.protect('state.memories', 'SELECT, INSERT');
-- What identifies a memory never changes; the rest may.
GRANT UPDATE (
    channel, content, category, tags, metadata, source, provenance, evidence, confidence, anchored, status,
    superseded_by, merged_into, at, valid_from, valid_to, expires_at, deleted_at, changed_by, change_reason,
    usefulness, salience, reinforcement_count, last_injected_at
) ON state.memories TO mnemic_app;
-- One index for words and tags; GIN intersects its columns by skipping, so that a rare key makes a frequent
-- one cheap. New entries wait in a list that every search reads to its end: it is kept short.
CREATE INDEX memories_words ON state.memories USING gin (mnemic.scope_key(tenant_id, owner), words, tags)
WITH (gin_pending_list_limit = 512);
-- Statistics of an index would give away what those of its table are withheld for.
ALTER INDEX state.memories_words ALTER COLUMN 1 SET STATISTICS 0;
-- When it happened or was said, for questions about a time.
CREATE INDEX memories_happened ON state.memories (tenant_id, owner, coalesce(at, created_at));
-- What the daily clean-up looks for, a few memories among many.
CREATE INDEX memories_expiring ON state.memories (tenant_id, expires_at)
WHERE expires_at IS NOT NULL AND status IN ('active', 'pending_review') AND deleted_at IS NULL;
CREATE INDEX memories_faint ON state.memories (tenant_id, memory_id)
WHERE salience < 0.1 AND NOT anchored AND status = 'active' AND deleted_at IS NULL;

-- What a memory was before each change. The newest state is in state.memories; together they are
-- the whole history, numbered without gaps. The same columns in the same order, plus until when.
CREATE TABLE state.memory_versions (
    known_until timestamptz NOT NULL DEFAULT now(),
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    version int NOT NULL,
    owner text NOT NULL,
    channel text NOT NULL,
    process text NOT NULL,
    conversation text,
    "position" int,
    role text,
    name text,
    content text NOT NULL,
    category text NOT NULL,
    tags text[] NOT NULL,
    metadata jsonb NOT NULL,
    source text NOT NULL,
    provenance text NOT NULL,
    evidence text[] NOT NULL,
    confidence real NOT NULL,
    anchored boolean NOT NULL,
    status text NOT NULL,
    superseded_by uuid,
    merged_into uuid,
    at timestamptz,
    valid_from timestamptz,
    valid_to timestamptz,
    expires_at timestamptz,
    deleted_at timestamptz,
    created_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL,
    changed_by text NOT NULL,
    change_reason text,
    whole_id uuid,
    whole_hash bytea,
    chunk_index int,
    chunk_count int,
    external_id text,
    usefulness real NOT NULL,
    salience real NOT NULL,
    reinforcement_count int NOT NULL,
    retrieval_count int NOT NULL,
    last_retrieved_at timestamptz,
    last_injected_at timestamptz,
    content_hash bytea NOT NULL,
    words tsvector NOT NULL,
    PRIMARY KEY (tenant_id, memory_id, version),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE
);
COMMENT ON TABLE state.memory_versions IS 'What memories were before each change; written by the database, never changed.';
CREATE INDEX memory_versions_period ON state.memory_versions (tenant_id, owner, recorded_at, known_until);
CALL mnemic.protect('state.memory_versions', 'SELECT');
-- Numbers the new state and keeps the old one. It runs as mnemic_definer because the application may
-- not write history itself; the tenant's policy holds for it all the same. The moment is that of the
-- change, not of the transaction: one that began earlier may have waited for the row, and the periods of
-- two versions must not overlap. It never goes back, even if the clock does.
GRANT INSERT ON state.memory_versions TO mnemic_definer;
CREATE INDEX memory_versions_words ON state.memory_versions
USING gin (mnemic.scope_key(tenant_id, owner), words)
WITH (gin_pending_list_limit = 512);
ALTER INDEX state.memory_versions_words ALTER COLUMN 1 SET STATISTICS 0;

-- How often memories were recalled, in a table of its own.
--
-- Every recalled memory is counted. In the memories' own rows, which are wide and have a dozen indexes, that took the
-- server 6 to 10 times as long, beside the recalls of others, and left a dead copy of the whole row each time. Here an
-- update touches no index and fits into the same page: `fillfactor` leaves room for it.
CREATE TABLE state.recall_counts (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    retrieval_count int NOT NULL CHECK (retrieval_count >= 0),
    last_retrieved_at timestamptz,
    PRIMARY KEY (tenant_id, memory_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE
) WITH (fillfactor = 70);
COMMENT ON TABLE state.recall_counts IS 'How often memories were recalled, and when last; no row for those that never were.';
-- Counts go with their memories, and not otherwise.
CALL mnemic.protect('state.recall_counts', 'SELECT, INSERT');
GRANT UPDATE (retrieval_count, last_retrieved_at) ON state.recall_counts TO mnemic_app;

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

-- Memories that look alike are found later, and not while they are stored (docs/adr/0018-compared-later.md); and what is
-- left of storing them takes less.
--
-- A memory is *waiting*, in queue.uncompared, from the moment it is stored, until `mnemic.compare_memories` has
-- compared it with those of its owner that stand near it. It waits in a row that is committed with it, so that none is
-- missed, however late its transaction ends; and comparing takes the row away in the transaction that links what it
-- found, so that it may be killed at any time.
CREATE TABLE queue.uncompared (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    memory_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, owner, memory_id)
);
COMMENT ON TABLE queue.uncompared IS 'Memories that were not yet compared with others of their owner.';
CALL mnemic.protect('queue.uncompared', 'SELECT, INSERT, DELETE');

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
