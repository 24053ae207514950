-- Logs: destructive actions in the audit log, writes and reads in the memory log. Both are append-only: the application may
-- insert and read.

-- An action is two rows. Its `intent` is committed before it begins; its outcome, `succeeded` or `failed`, refers to
-- the intent. An intent without an outcome was interrupted, by a crash for example, at an unknown point.
CREATE TABLE traces.audit_log (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    audit_id uuid NOT NULL DEFAULT mnemic.new_id(),
    intent_id uuid,
    -- NULL if the action concerns the whole tenant, or erases its owner.
    owner text CHECK (char_length(owner) BETWEEN 1 AND 256),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    action text NOT NULL CHECK (char_length(action) BETWEEN 1 AND 256),
    target text NOT NULL CHECK (char_length(target) BETWEEN 1 AND 1024),
    phase text NOT NULL CHECK (phase IN ('intent', 'succeeded', 'failed')),
    detail jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(detail) = 'object'),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, audit_id),
    FOREIGN KEY (tenant_id, intent_id) REFERENCES traces.audit_log ON DELETE CASCADE,
    CONSTRAINT outcomes_have_an_intent CHECK ((phase = 'intent') = (intent_id IS NULL))
);
COMMENT ON TABLE traces.audit_log IS 'Destructive acts: the intent before, the outcome after.';
-- One outcome per intent; also used by the foreign key.
CREATE UNIQUE INDEX audit_log_outcome ON traces.audit_log (tenant_id, intent_id);
CREATE INDEX audit_log_recent ON traces.audit_log (tenant_id, at DESC, audit_id DESC);
CREATE INDEX audit_log_owner ON traces.audit_log (tenant_id, owner, at DESC, audit_id DESC);
CALL mnemic.protect('traces.audit_log', 'SELECT, INSERT');

-- One row per call, however many memories it wrote or found. Each day (UTC) is a partition, so that retention drops
-- tables. There is no foreign key to state.tenants: the policy verifies the tenant, and creating a partition would have to
-- lock that table.
CREATE TABLE traces.memory_log (
    tenant_id uuid NOT NULL,
    log_id uuid NOT NULL DEFAULT mnemic.new_id(),
    logged_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    channel text NOT NULL CHECK (char_length(channel) BETWEEN 1 AND 256),
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    conversation text CHECK (char_length(conversation) BETWEEN 1 AND 256),
    operation text NOT NULL CHECK (char_length(operation) BETWEEN 1 AND 64),
    memory_count int NOT NULL CHECK (memory_count >= 0),
    duration_ms real CHECK (duration_ms >= 0),
    detail jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(detail) = 'object'),
    PRIMARY KEY (tenant_id, log_id, logged_at)
) PARTITION BY RANGE (logged_at);
COMMENT ON TABLE traces.memory_log IS 'What was written and read, a row per call, a partition per day.';
CREATE INDEX memory_log_owner ON traces.memory_log (tenant_id, owner, logged_at DESC, log_id DESC);
CALL mnemic.protect('traces.memory_log', 'SELECT, INSERT');
-- Only a table's owner can add partitions to it, so mnemic_definer owns this one.
GRANT CREATE ON SCHEMA traces TO mnemic_definer;
ALTER TABLE traces.memory_log OWNER TO mnemic_definer;

-- Stored rows of the five views, see definitions/views/tenant_summary.sql.
CREATE TABLE traces.snapshots (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    name text NOT NULL CHECK (name IN ('tenant_summary', 'metrics_24h', 'stale_active', 'dead_xrefs', 'growth_7d')),
    rows jsonb NOT NULL CHECK (jsonb_typeof(rows) = 'array'),
    taken_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, name)
);
COMMENT ON TABLE traces.snapshots IS 'What the views above showed when a tenant last looked.';
CALL mnemic.protect('traces.snapshots', 'SELECT, INSERT, UPDATE');
