-- The tiers beside the memories: hot state, cold events, flagged actors, attributes of processes.

-- HOT: one JSON document per key, changed by compare-and-set on its version.
CREATE TABLE state.state_documents (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    key text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 256),
    document jsonb NOT NULL,
    version int NOT NULL DEFAULT 1 CHECK (version > 0),
    process text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, owner, key)
);
COMMENT ON TABLE state.state_documents IS 'What a part of a system knows now, one JSON document per key.';
CALL mnemic.protect('state.state_documents');

-- COLD: events of four kinds. They are append-only: the application may insert and read. All have two times: `at`, when
-- it happened, and `recorded_at`, when it was stored.
CREATE TABLE state.journal_events (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    event_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    channel text NOT NULL CHECK (char_length(channel) BETWEEN 1 AND 256),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    evaluated jsonb,
    acted jsonb,
    forward jsonb,
    extra jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(extra) = 'object'),
    at timestamptz NOT NULL DEFAULT now(),
    recorded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, event_id),
    CONSTRAINT says_something CHECK (num_nonnulls(evaluated, acted, forward) > 0)
);
COMMENT ON TABLE state.journal_events IS 'Cycles of agents: what was evaluated, what was done, what comes next.';
CREATE INDEX journal_events_recent ON state.journal_events (tenant_id, owner, at DESC, event_id DESC);
CALL mnemic.protect('state.journal_events', 'SELECT, INSERT');

-- `numeric` without a scale keeps the digits as they were given: 12.50 stays 12.50. The bounds leave
-- room for 18 decimals (the smallest unit of common digital money) and exclude NaN and infinity.
CREATE TABLE state.revenue_events (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    event_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    channel text NOT NULL CHECK (char_length(channel) BETWEEN 1 AND 256),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    amount numeric NOT NULL CHECK (abs(amount) < 1e20 AND scale(amount) <= 18),
    currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    source text NOT NULL CHECK (char_length(source) BETWEEN 1 AND 256),
    description text CHECK (char_length(description) BETWEEN 1 AND 8192),
    metadata jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(metadata) = 'object'),
    at timestamptz NOT NULL DEFAULT now(),
    recorded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, event_id)
);
COMMENT ON TABLE state.revenue_events IS 'Money that came in, or went back out where the amount is negative.';
CREATE INDEX revenue_events_recent ON state.revenue_events (tenant_id, owner, at DESC, event_id DESC);
CALL mnemic.protect('state.revenue_events', 'SELECT, INSERT');

CREATE TABLE state.error_events (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    event_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    channel text NOT NULL CHECK (char_length(channel) BETWEEN 1 AND 256),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    kind text NOT NULL CHECK (char_length(kind) BETWEEN 1 AND 256),
    message text NOT NULL CHECK (char_length(message) BETWEEN 1 AND 8192),
    detail jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(detail) = 'object'),
    severity text NOT NULL DEFAULT 'medium' CHECK (severity IN ('low', 'medium', 'high', 'critical')),
    at timestamptz NOT NULL DEFAULT now(),
    recorded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, event_id)
);
COMMENT ON TABLE state.error_events IS 'What went wrong in the systems that use this memory.';
CREATE INDEX error_events_recent ON state.error_events (tenant_id, owner, at DESC, event_id DESC);
CALL mnemic.protect('state.error_events', 'SELECT, INSERT');

CREATE TABLE state.metrics_events (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    event_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    channel text NOT NULL CHECK (char_length(channel) BETWEEN 1 AND 256),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    kind text NOT NULL CHECK (kind IN ('recall', 'retain', 'query', 'mutation', 'inference')),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 256),
    value double precision NOT NULL CHECK (value > '-Infinity' AND value < 'Infinity'),
    unit text NOT NULL CHECK (char_length(unit) BETWEEN 1 AND 32),
    metadata jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(metadata) = 'object'),
    at timestamptz NOT NULL DEFAULT now(),
    recorded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, event_id)
);
COMMENT ON TABLE state.metrics_events IS 'What was measured, one value each; read as summaries.';
CREATE INDEX metrics_events_recent ON state.metrics_events (tenant_id, owner, at DESC);
CALL mnemic.protect('state.metrics_events', 'SELECT, INSERT');

-- FLAGGED: actors that an owner should not trust. An actor may be flagged several times, each with its
-- own reason; it is flagged as long as one of them is not cleared. A flag is cleared, never removed.
CREATE TABLE state.flagged_actors (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    flag_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    actor text NOT NULL CHECK (char_length(actor) BETWEEN 1 AND 256),
    reason text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 1024),
    severity text NOT NULL DEFAULT 'medium' CHECK (severity IN ('low', 'medium', 'high', 'critical')),
    evidence text[] NOT NULL DEFAULT '{}',
    flagged_at timestamptz NOT NULL DEFAULT now(),
    cleared_at timestamptz,
    clearing_reason text CHECK (char_length(clearing_reason) BETWEEN 1 AND 1024),
    PRIMARY KEY (tenant_id, flag_id),
    CONSTRAINT cleared_with_a_reason CHECK ((cleared_at IS NULL) = (clearing_reason IS NULL))
);
COMMENT ON TABLE state.flagged_actors IS 'Actors that an owner should not trust, and why.';
CREATE INDEX flagged_actors_open ON state.flagged_actors (tenant_id, owner, actor) WHERE cleared_at IS NULL;
CREATE INDEX flagged_actors_recent ON state.flagged_actors (tenant_id, owner, flagged_at DESC, flag_id DESC);
CALL mnemic.protect('state.flagged_actors', 'SELECT, INSERT');
GRANT UPDATE (cleared_at, clearing_reason) ON state.flagged_actors TO mnemic_app;

-- Attributes of the processes that work for an owner. `process` is the described one, `set_by` the one that wrote the
-- attribute.
CREATE TABLE state.process_attributes (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    attribute text NOT NULL CHECK (char_length(attribute) BETWEEN 1 AND 256),
    value jsonb NOT NULL,
    provenance text NOT NULL DEFAULT 'witnessed' CHECK (provenance IN ('measured', 'reasoned', 'witnessed')),
    evidence text[] NOT NULL DEFAULT '{}',
    confidence real NOT NULL DEFAULT 1 CHECK (confidence BETWEEN 0 AND 1),
    set_by text NOT NULL CHECK (char_length(set_by) BETWEEN 1 AND 256),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, owner, process, attribute)
);
COMMENT ON TABLE state.process_attributes IS 'What is known about each process, attribute by attribute.';
CALL mnemic.protect('state.process_attributes', 'SELECT, INSERT, UPDATE');
