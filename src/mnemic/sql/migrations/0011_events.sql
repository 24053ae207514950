-- Events: changes of memories, entities, relations and state documents, published exactly once and in order.
--
-- A trigger writes an event into `queue.event_inbox`, in the transaction of the change. `mnemic.sequence_events` moves
-- committed events to `queue.events` and numbers them 1, 2, 3 … within each tenant, one mover per tenant at a time. Readers
-- call it before they read, so no background process is needed.
--
-- Why two steps: a number that the writer takes becomes visible when the writer commits, so a reader that has seen 8
-- would miss a 7 that commits later. The mover holds the tenant's row in `queue.event_logs` until it commits, so its
-- numbers become visible in order. A rolled-back change gets no number, and a long transaction delays only its own events.
-- Events of one subject are in the order of its changes: a writer waits until the previous one has committed, so its
-- inbox entry is younger.

-- No foreign key to state.tenants: the changed rows have one, and thousands of checks per second would gain nothing.
CREATE TABLE queue.event_inbox (
    tenant_id uuid NOT NULL,
    inbox_id bigint GENERATED ALWAYS AS IDENTITY,
    owner text NOT NULL,
    type text NOT NULL,
    subject text NOT NULL,
    data jsonb NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, inbox_id)
);
COMMENT ON TABLE queue.event_inbox IS 'Events that have no position yet; nobody reads them here.';
CALL mnemic.protect('queue.event_inbox', 'SELECT');

CREATE TABLE queue.events (
    tenant_id uuid NOT NULL,
    "position" bigint NOT NULL CHECK ("position" > 0),
    owner text NOT NULL,
    type text NOT NULL,
    subject text NOT NULL,
    data jsonb NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, "position")
);
COMMENT ON TABLE queue.events IS 'What happened, in the order in which it is read.';
-- For erasing an owner and for reading its events.
CREATE INDEX events_owner ON queue.events (tenant_id, owner, "position");
CALL mnemic.protect('queue.events', 'SELECT');

-- The last position of each tenant, and the last one that retention has dropped. Moving and dropping events locks this row.
CREATE TABLE queue.event_logs (
    tenant_id uuid PRIMARY KEY REFERENCES state.tenants,
    last_position bigint NOT NULL DEFAULT 0,
    dropped_position bigint NOT NULL DEFAULT 0,
    CONSTRAINT dropped_what_was_there CHECK (dropped_position BETWEEN 0 AND last_position)
);
COMMENT ON TABLE queue.event_logs IS 'The newest position of each tenant, and the newest one that is dropped.';
CALL mnemic.protect('queue.event_logs', 'SELECT');
GRANT UPDATE ON queue.event_logs TO mnemic_definer;

-- A consumer is a name with a position in the log. `reader` is the session that reads under this name: the last one that
-- began. An earlier one gets an error when it wants to move the position.
CREATE TABLE queue.event_consumers (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 256),
    owner text CHECK (char_length(owner) BETWEEN 1 AND 256),
    types text[],
    "position" bigint NOT NULL CHECK ("position" >= 0),
    reader uuid,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, name)
);
COMMENT ON TABLE queue.event_consumers IS 'Who follows events under a name, and up to where.';
CALL mnemic.protect('queue.event_consumers', 'SELECT, INSERT, DELETE');
GRANT UPDATE (types, "position", reader, updated_at) ON queue.event_consumers TO mnemic_app;

-- Webhooks: events sent to a URL, signed, with retries.
--
-- A webhook is *enabled*, or *disabled*: by a user, because the receiver answered 410 (gone), or because all deliveries
-- failed for days. `position` is the last event for which a job was added: reading events, adding a job for each, and moving
-- the position are one transaction. A disabled webhook keeps its position and continues from there when it is enabled.
--
-- Rotating a secret replaces it, and for a grace period messages are signed with both, so that the receiver can be
-- updated without missing any. It needs a proof of maintenance, so that injected SQL cannot replace a secret.
CREATE TABLE queue.webhooks (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    webhook_id uuid NOT NULL DEFAULT mnemic.new_id(),
    -- The owner whose events it gets; NULL: all.
    owner text CHECK (char_length(owner) BETWEEN 1 AND 256),
    url text NOT NULL CHECK (char_length(url) BETWEEN 1 AND 2048),
    -- Which types of events it gets; NULL: all.
    types text[],
    -- In plain text, since every message is signed with it; shown once, when it is created or rotated.
    secret text NOT NULL CHECK (starts_with(secret, 'whsec_')),
    -- The previous one, and until when messages are signed with it as well.
    previous_secret text CHECK (starts_with(previous_secret, 'whsec_')),
    previous_secret_until timestamptz,
    state text NOT NULL DEFAULT 'enabled' CHECK (state IN ('enabled', 'disabled')),
    disabled_reason text CHECK (char_length(disabled_reason) BETWEEN 1 AND 1024),
    -- The first failure since the last success; NULL after a success.
    failing_since timestamptz,
    "position" bigint NOT NULL CHECK ("position" >= 0),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, webhook_id),
    CONSTRAINT disabled_for_a_reason CHECK ((state = 'disabled') = (disabled_reason IS NOT NULL)),
    CONSTRAINT previous_secret_ends CHECK ((previous_secret IS NULL) = (previous_secret_until IS NULL))
);
COMMENT ON TABLE queue.webhooks IS 'Addresses that events are sent to.';
CALL mnemic.protect('queue.webhooks', 'SELECT, INSERT, DELETE');
GRANT UPDATE (url, types, state, disabled_reason, failing_since, "position", updated_at) ON queue.webhooks TO mnemic_app;
GRANT UPDATE (secret, previous_secret, previous_secret_until, updated_at) ON queue.webhooks TO mnemic_definer;

-- One row per delivery attempt. `event_position` is NULL for a test message.
CREATE TABLE queue.webhook_deliveries (
    tenant_id uuid NOT NULL,
    delivery_id uuid NOT NULL DEFAULT mnemic.new_id(),
    webhook_id uuid NOT NULL,
    owner text CHECK (char_length(owner) BETWEEN 1 AND 256),
    event_position bigint,
    event_type text NOT NULL,
    attempt int NOT NULL CHECK (attempt > 0),
    status_code int,
    error text CHECK (char_length(error) BETWEEN 1 AND 1024),
    duration_ms real NOT NULL CHECK (duration_ms >= 0),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, delivery_id),
    FOREIGN KEY (tenant_id, webhook_id) REFERENCES queue.webhooks ON DELETE CASCADE
);
COMMENT ON TABLE queue.webhook_deliveries IS 'What was sent to webhooks, attempt by attempt, and what came of it.';
CREATE INDEX webhook_deliveries_recent ON queue.webhook_deliveries (tenant_id, webhook_id, at DESC, delivery_id DESC);
CREATE INDEX webhook_deliveries_age ON queue.webhook_deliveries (tenant_id, at);
CREATE INDEX webhook_deliveries_owner ON queue.webhook_deliveries (tenant_id, owner);
CALL mnemic.protect('queue.webhook_deliveries', 'SELECT, INSERT');
