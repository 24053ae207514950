-- Context paging (context/): everything that an agent reads is an object of a session, shown at one of five levels: 0 is the
-- full text, 1 to 3 are shorter ones, 4 is nothing. The full text stays here, so that a fault brings it back.
--
-- A session is *open* until it is closed, by its client or because it was idle; a later request opens it again. `version`
-- counts its saves: a process that saves says which version it has read, so that no save overwrites another.
-- Texts are bytes (UTF-8), because output of programs may hold NUL and broken Unicode, which `text` cannot store.
CREATE TABLE state.context_sessions (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    session_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    channel text NOT NULL CHECK (char_length(channel) BETWEEN 1 AND 256),
    session text NOT NULL CHECK (char_length(session) BETWEEN 1 AND 256),
    version int NOT NULL DEFAULT 1 CHECK (version > 0),
    epoch int NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    call_count int NOT NULL DEFAULT 0 CHECK (call_count >= 0),
    zone text NOT NULL DEFAULT 'normal' CHECK (zone IN ('normal', 'caution', 'warning', 'critical', 'emergency')),
    -- Of the last request: as it was sent, and as it would have been without paging.
    tokens int NOT NULL DEFAULT 0 CHECK (tokens >= 0),
    full_tokens int NOT NULL DEFAULT 0 CHECK (full_tokens >= 0),
    tokens_per_char double precision NOT NULL DEFAULT 0.35 CHECK (tokens_per_char > 0),
    model text NOT NULL DEFAULT '' CHECK (char_length(model) <= 256),
    sent_at timestamptz,
    saved_usd double precision NOT NULL DEFAULT 0,
    -- Further state of the window that only its own code reads.
    more jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(more) = 'object'),
    created_at timestamptz NOT NULL DEFAULT now(),
    used_at timestamptz NOT NULL DEFAULT now(),
    closed_at timestamptz,
    -- When useful objects last became memories.
    learned_at timestamptz,
    PRIMARY KEY (tenant_id, session_id),
    UNIQUE (tenant_id, owner, session_id),
    UNIQUE (tenant_id, owner, session)
);
COMMENT ON TABLE state.context_sessions IS 'Sessions of agents whose context is paged: the state of the window.';
CREATE INDEX context_sessions_of_owner ON state.context_sessions (tenant_id, owner, session_id DESC);
CREATE INDEX context_sessions_idle ON state.context_sessions (tenant_id, used_at);
CALL mnemic.protect('state.context_sessions');
-- The row changes with every request: leave room for new versions on its page.
ALTER TABLE state.context_sessions SET (fillfactor = 70);

-- Full texts, each once per owner.
CREATE TABLE state.context_contents (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    content bytea NOT NULL CHECK (octet_length(content) <= 16777216),
    stored_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, owner, content_hash)
);
COMMENT ON TABLE state.context_contents IS 'Full texts of context objects, by SHA-256, each once per owner.';
CALL mnemic.protect('state.context_contents');

CREATE TABLE state.context_objects (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    session_id uuid NOT NULL,
    key text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 512),
    -- Order of admission.
    "position" int NOT NULL CHECK ("position" >= 0),
    type text NOT NULL CHECK (type IN ('file', 'command', 'search', 'diff', 'data', 'prose', 'message', 'other')),
    tool text NOT NULL DEFAULT '' CHECK (char_length(tool) <= 256),
    source_key text NOT NULL DEFAULT '' CHECK (char_length(source_key) <= 4096),
    content_hash bytea NOT NULL,
    -- Estimated tokens of the levels 0 to 4; 0 for one that was never made.
    tokens int[] NOT NULL CHECK (cardinality(tokens) = 5 AND 0 <= ALL (tokens)),
    level smallint NOT NULL CHECK (level BETWEEN 0 AND 4),
    -- What was sent for it in this epoch, if below level 0.
    sent_text bytea CHECK (octet_length(sent_text) <= 16777216),
    -- The object in one line (level 3), for assembly within a small budget.
    line text NOT NULL DEFAULT '' CHECK (char_length(line) <= 2048),
    -- Key entities: names that the text defines or mentions.
    names text[] NOT NULL DEFAULT '{}' CHECK (cardinality(names) <= 64),
    tags text[] NOT NULL DEFAULT '{}' CHECK (cardinality(tags) <= 64),
    -- Turns: numbers of requests within the session.
    first_call int NOT NULL CHECK (first_call >= 0),
    last_use int NOT NULL CHECK (last_use >= 0),
    is_error boolean NOT NULL DEFAULT false,
    is_pinned boolean NOT NULL DEFAULT false,
    -- Recalled memories: they are never learned again.
    is_recalled boolean NOT NULL DEFAULT false,
    superseded_by text CHECK (char_length(superseded_by) BETWEEN 1 AND 512),
    fault_count int NOT NULL DEFAULT 0 CHECK (fault_count >= 0),
    -- Number of the request after which it was last restored: assembly shows it in full for a while.
    restored_call int CHECK (restored_call >= 0),
    -- False once the client has removed it from its prompt.
    is_in_window boolean NOT NULL DEFAULT true,
    more jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(more) = 'object'),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, session_id, key),
    FOREIGN KEY (tenant_id, owner, session_id)
        REFERENCES state.context_sessions (tenant_id, owner, session_id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, owner, content_hash) REFERENCES state.context_contents
);
COMMENT ON TABLE state.context_objects IS 'What an agent has read in a session, and the level at which it is shown.';
CREATE INDEX context_objects_in_order ON state.context_objects (tenant_id, session_id, "position");
CREATE INDEX context_objects_of_content ON state.context_objects (tenant_id, owner, content_hash);
CALL mnemic.protect('state.context_objects');

CREATE TABLE state.context_relationships (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    session_id uuid NOT NULL,
    from_key text NOT NULL CHECK (char_length(from_key) BETWEEN 1 AND 512),
    to_key text NOT NULL CHECK (char_length(to_key) BETWEEN 1 AND 512),
    relation text NOT NULL CHECK (relation IN ('depends_on', 'supersedes', 'mentions')),
    PRIMARY KEY (tenant_id, session_id, from_key, to_key, relation),
    FOREIGN KEY (tenant_id, owner, session_id)
        REFERENCES state.context_sessions (tenant_id, owner, session_id) ON DELETE CASCADE
);
COMMENT ON TABLE state.context_relationships IS 'How the objects of a session depend on each other.';
CALL mnemic.protect('state.context_relationships');

-- The decisions. Ids ascend, so that they order the history of a session.
CREATE TABLE state.context_steps (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    session_id uuid NOT NULL,
    event_id uuid NOT NULL DEFAULT mnemic.new_id(),
    call int NOT NULL CHECK (call >= 0),
    tokens int NOT NULL CHECK (tokens >= 0),
    full_tokens int NOT NULL CHECK (full_tokens >= 0),
    zone text NOT NULL CHECK (zone IN ('normal', 'caution', 'warning', 'critical', 'emergency')),
    saved_usd double precision NOT NULL DEFAULT 0,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, session_id, event_id),
    FOREIGN KEY (tenant_id, owner, session_id)
        REFERENCES state.context_sessions (tenant_id, owner, session_id) ON DELETE CASCADE
);
COMMENT ON TABLE state.context_steps IS 'Requests of a session: tokens, zone of pressure and money saved.';
CALL mnemic.protect('state.context_steps');

CREATE TABLE state.context_admissions (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    session_id uuid NOT NULL,
    event_id uuid NOT NULL DEFAULT mnemic.new_id(),
    call int NOT NULL CHECK (call >= 0),
    key text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 512),
    level smallint NOT NULL CHECK (level BETWEEN 0 AND 4),
    score double precision NOT NULL,
    parts jsonb NOT NULL CHECK (jsonb_typeof(parts) = 'object'),
    threshold double precision NOT NULL,
    reason text NOT NULL CHECK (char_length(reason) <= 1024),
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, session_id, event_id),
    FOREIGN KEY (tenant_id, owner, session_id)
        REFERENCES state.context_sessions (tenant_id, owner, session_id) ON DELETE CASCADE
);
COMMENT ON TABLE state.context_admissions IS 'At which level each object was first sent, and why.';
CALL mnemic.protect('state.context_admissions');

CREATE TABLE state.context_transitions (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    session_id uuid NOT NULL,
    event_id uuid NOT NULL DEFAULT mnemic.new_id(),
    call int NOT NULL CHECK (call >= 0),
    key text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 512),
    from_level smallint NOT NULL CHECK (from_level BETWEEN 0 AND 4),
    to_level smallint NOT NULL CHECK (to_level BETWEEN 0 AND 4),
    reason text NOT NULL CHECK (char_length(reason) <= 1024),
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, session_id, event_id),
    FOREIGN KEY (tenant_id, owner, session_id)
        REFERENCES state.context_sessions (tenant_id, owner, session_id) ON DELETE CASCADE
);
COMMENT ON TABLE state.context_transitions IS 'Changes of level, by an epoch or a fault, and why.';
CALL mnemic.protect('state.context_transitions');

CREATE TABLE state.context_faults (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    session_id uuid NOT NULL,
    event_id uuid NOT NULL DEFAULT mnemic.new_id(),
    call int NOT NULL CHECK (call >= 0),
    key text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 512),
    kind text NOT NULL CHECK (kind IN ('micro', 'restore', 'edit')),
    question text NOT NULL CHECK (char_length(question) <= 4096),
    tokens int NOT NULL CHECK (tokens >= 0),
    restored text[] NOT NULL DEFAULT '{}' CHECK (cardinality(restored) <= 1024),
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, session_id, event_id),
    FOREIGN KEY (tenant_id, owner, session_id)
        REFERENCES state.context_sessions (tenant_id, owner, session_id) ON DELETE CASCADE
);
COMMENT ON TABLE state.context_faults IS 'Requests for text that the window no longer held.';
CALL mnemic.protect('state.context_faults');

CREATE TABLE state.context_epochs (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    session_id uuid NOT NULL,
    event_id uuid NOT NULL DEFAULT mnemic.new_id(),
    number int NOT NULL CHECK (number >= 0),
    call int NOT NULL CHECK (call >= 0),
    reason text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 256),
    tokens_before int NOT NULL CHECK (tokens_before >= 0),
    tokens_after int NOT NULL CHECK (tokens_after >= 0),
    saving_usd double precision NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, session_id, event_id),
    FOREIGN KEY (tenant_id, owner, session_id)
        REFERENCES state.context_sessions (tenant_id, owner, session_id) ON DELETE CASCADE
);
COMMENT ON TABLE state.context_epochs IS 'When the prompt of a session was rewritten, why, and what that was expected to save.';
CALL mnemic.protect('state.context_epochs');

-- Which objects became memories, so that none does twice.
CREATE TABLE state.context_learned (
    tenant_id uuid NOT NULL,
    owner text NOT NULL,
    content_hash bytea NOT NULL,
    session_id uuid NOT NULL,
    key text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 512),
    source_key text NOT NULL DEFAULT '' CHECK (char_length(source_key) <= 4096),
    -- None if the object holds nothing that is worth a memory, or if the memory was erased.
    memory_id uuid,
    learned_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, owner, content_hash),
    FOREIGN KEY (tenant_id, memory_id) REFERENCES state.memories ON DELETE SET NULL (memory_id)
);
COMMENT ON TABLE state.context_learned IS 'Contents of context objects that became memories.';
CREATE INDEX context_learned_source ON state.context_learned (tenant_id, owner, left(source_key, 256));
CREATE INDEX context_learned_memory ON state.context_learned (tenant_id, memory_id) WHERE memory_id IS NOT NULL;
CALL mnemic.protect('state.context_learned');
