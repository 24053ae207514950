-- Memories: everything that can be recalled is one row of state.memories. A turn, a fact, a preference, a
-- strategy and a chunk of a document share one life cycle, one history and one erasure.
--
-- Life cycle (`status`):
--   active          recalled
--   pending_review  not recalled until somebody decides, for example a claim against an anchored fact
--   superseded      replaced by a newer memory (`superseded_by`)
--   merged          became part of another memory (`merged_into`)
--   archived        kept, not recalled
-- In any status a memory can be forgotten (`deleted_at`) and restored until it is erased.
--
-- Bitemporal: `valid_from` to `valid_to` is when it was true; `recorded_at` is since when it has been stored in this
-- wording. Earlier versions are in state.memory_versions.

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
-- The application may not delete conversations: their turns and the history of these would be deleted with them.
CALL mnemic.protect('state.conversations', 'SELECT, INSERT');
GRANT UPDATE (turn_count, metadata, started_at, last_turn_at, archived_at) ON state.conversations TO mnemic_app;

CREATE TABLE state.memories (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL DEFAULT mnemic.new_id(),
    version int NOT NULL DEFAULT 1 CHECK (version > 0),

    -- Owner, place and author.
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    channel text NOT NULL CHECK (char_length(channel) BETWEEN 1 AND 256),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    conversation text,
    "position" int CHECK ("position" >= 0),
    role text CHECK (char_length(role) BETWEEN 1 AND 64),
    name text CHECK (char_length(name) BETWEEN 1 AND 256),

    -- Content.
    content text NOT NULL CHECK (char_length(content) BETWEEN 1 AND 8192),
    category text NOT NULL CHECK (
        category IN ('factual', 'preference', 'behavioral', 'episodic', 'procedural', 'reference', 'prospective')
    ),
    tags text[] NOT NULL DEFAULT '{}' CHECK (tags = '{}' OR mnemic.are_tags(tags)),
    metadata jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(metadata) = 'object'),

    -- Trust.
    source text NOT NULL CHECK (source IN ('extracted', 'user_provided', 'imported', 'inferred')),
    provenance text NOT NULL DEFAULT 'witnessed' CHECK (provenance IN ('measured', 'reasoned', 'witnessed')),
    evidence text[] NOT NULL DEFAULT '{}',
    confidence real NOT NULL DEFAULT 1 CHECK (confidence BETWEEN 0 AND 1),
    anchored boolean NOT NULL DEFAULT false,

    -- Life cycle.
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

    -- Chunks of a longer text, which is the chunks of one `whole_id` joined in the order of their index.
    whole_id uuid,
    whole_hash bytea,
    chunk_index int,
    chunk_count int,
    external_id text CHECK (char_length(external_id) BETWEEN 1 AND 512),

    -- Usage. It changes often, so a change here creates no version.
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
    -- Deferrable, so that an import may insert them in any order.
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
-- An owner has no exact duplicates among active memories. A text of several chunks is identified by its first
-- chunk, so that a text is stored completely or not at all; its other chunks are never duplicates.
-- The owner is the last column in both indexes: without statistics the planner estimates an owner to be as
-- selective as a hash and would read all memories of the owner (see the query retain.known).
CREATE UNIQUE INDEX memories_content ON state.memories (tenant_id, content_hash, owner)
WHERE status = 'active' AND deleted_at IS NULL AND coalesce(chunk_index, 0) = 0;
-- A repeated import finds its earlier memories, even if they were forgotten since then.
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
-- Columns that identify a memory cannot be changed.
GRANT UPDATE (
    channel, content, category, tags, metadata, source, provenance, evidence, confidence, anchored, status,
    superseded_by, merged_into, at, valid_from, valid_to, expires_at, deleted_at, changed_by, change_reason,
    usefulness, salience, reinforcement_count, last_injected_at
) ON state.memories TO mnemic_app;
-- One GIN index for owner, words and tags: GIN intersects its columns, so that a rare key makes a frequent one
-- cheap. It is searched by one owner's entries, so that other owners' memories cost nothing. Every search reads
-- the whole pending list, so the list is kept short.
CREATE INDEX memories_words ON state.memories USING gin (mnemic.scope_key(tenant_id, owner), words, tags)
WITH (gin_pending_list_limit = 512);
-- Statistics of the index would reveal what mnemic.protect() hides in those of the table.
ALTER INDEX state.memories_words ALTER COLUMN 1 SET STATISTICS 0;
-- When it happened or was said, for queries about a time.
CREATE INDEX memories_happened ON state.memories (tenant_id, owner, coalesce(at, created_at));
-- For the daily cleanup, which looks for a few memories among many.
CREATE INDEX memories_expiring ON state.memories (tenant_id, expires_at)
WHERE expires_at IS NOT NULL AND status IN ('active', 'pending_review') AND deleted_at IS NULL;
CREATE INDEX memories_faint ON state.memories (tenant_id, memory_id)
WHERE salience < 0.1 AND NOT anchored AND status = 'active' AND deleted_at IS NULL;

-- The earlier versions of memories. The current one is in state.memories; together they are the whole history,
-- numbered without gaps. `known_until` is when the next version replaced it; the other columns are those of the memory,
-- and the recall counts of that time. Only the trigger keep_version writes here.
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
GRANT INSERT ON state.memory_versions TO mnemic_definer;
CREATE INDEX memory_versions_words ON state.memory_versions
USING gin (mnemic.scope_key(tenant_id, owner), words)
WITH (gin_pending_list_limit = 512);
ALTER INDEX state.memory_versions_words ALTER COLUMN 1 SET STATISTICS 0;

-- How often memories were recalled. Every recall counts its memories. In state.memories, whose rows are wide and have a
-- dozen indexes, an update took 6 to 10 times as long and left a dead copy of the whole row. Here it touches no index and
-- fits into the same page (HOT): `fillfactor` leaves room for it.
CREATE TABLE state.recall_counts (
    tenant_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    retrieval_count int NOT NULL CHECK (retrieval_count >= 0),
    last_retrieved_at timestamptz,
    PRIMARY KEY (tenant_id, memory_id),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE CASCADE
) WITH (fillfactor = 70);
COMMENT ON TABLE state.recall_counts IS 'How often memories were recalled, and when last; no row for those that never were.';
-- Counts are deleted only together with their memories.
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

-- Near duplicates that wait for a decision.
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

-- The backlog of deduplication, which runs after storing (docs/adr/0018-compared-later.md); renamed in 0013_plain_names.
-- A row is committed together with its memory, so that none is missed, however late the transaction commits.
-- `mnemic.find_near_duplicates` deletes the row in the transaction that links the duplicates, so it can be killed at any
-- time.
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
