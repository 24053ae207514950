-- Events: what happened to memories, entities, relations and state documents, for whoever follows it.
--
-- An event is written by a trigger, in the transaction that it tells about, into `queue.event_inbox`. From there
-- `mnemic.sequence_events` moves what is committed to `queue.events`, one mover of a tenant at a time, and
-- numbers it: 1, 2, 3 … within each tenant. Readers have it moved before they read, so nobody else is needed.
--
-- Why two steps. A number that the writer takes itself becomes visible when the writer commits, and a reader
-- that has seen 8 would never look for a 7 that comes late. Numbers given by one mover, which holds the
-- tenant's row in `queue.event_logs` until it commits, become visible in their order: none ever appears below
-- one that was seen. What was rolled back never gets a number, and a long transaction delays its own
-- events only. For one subject the order of events is that of its changes: whoever changes a row waits for
-- the one before to commit, so its entry in the inbox is younger, and is moved later or in the same step behind it.

-- There is no foreign key to state.tenants: the rows that the triggers are on have one, and thousands of
-- checks per second would buy nothing.
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
-- For erasing an owner, and for reading the events of one.
CREATE INDEX events_owner ON queue.events (tenant_id, owner, "position");
CALL mnemic.protect('queue.events', 'SELECT');

-- How far the numbering of each tenant is, and up to where events were dropped by retention. Whoever moves or
-- drops events holds this row.
CREATE TABLE queue.event_logs (
    tenant_id uuid PRIMARY KEY REFERENCES state.tenants,
    last_position bigint NOT NULL DEFAULT 0,
    dropped_position bigint NOT NULL DEFAULT 0,
    CONSTRAINT dropped_what_was_there CHECK (dropped_position BETWEEN 0 AND last_position)
);
COMMENT ON TABLE queue.event_logs IS 'The newest position of each tenant, and the newest one that is dropped.';
CALL mnemic.protect('queue.event_logs', 'SELECT');
GRANT UPDATE ON queue.event_logs TO mnemic_definer;

-- A consumer is a name with a place in the log. `reader` is the one that reads under this name now: the last
-- one that began. An earlier one finds itself replaced when it wants to move on.
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

-- Webhooks: events sent to an address, each signed, each until it was taken or too often refused.
--
-- A webhook is *enabled*, or *disabled*: by somebody, because its receiver said that it is gone (status 410), or
-- because nothing but failures came back for days. `position` is how far its events were handed to the
-- queue: reading them, adding a job for each, and moving the position are one transaction. A disabled
-- webhook stands still, and goes on from there when it is enabled again.
--
-- A secret is *rotated*: a new one takes its place, and for a while messages are signed with both, so that the
-- receiver can be told the new one without missing any. Only a proof of maintenance does that: SQL that was smuggled
-- into an ordinary transaction puts no secret of its own in the place of another.
CREATE TABLE queue.webhooks (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    webhook_id uuid NOT NULL DEFAULT mnemic.new_id(),
    -- Whose events it gets; NULL: everybody's.
    owner text CHECK (char_length(owner) BETWEEN 1 AND 256),
    url text NOT NULL CHECK (char_length(url) BETWEEN 1 AND 2048),
    -- Which types of events it gets; NULL: all.
    types text[],
    -- In clear, since every message is signed with it; shown once, when it is made or rotated.
    secret text NOT NULL CHECK (starts_with(secret, 'whsec_')),
    -- The one before it, and until when messages are signed with that, too.
    previous_secret text CHECK (starts_with(previous_secret, 'whsec_')),
    previous_secret_until timestamptz,
    state text NOT NULL DEFAULT 'enabled' CHECK (state IN ('enabled', 'disabled')),
    disabled_reason text CHECK (char_length(disabled_reason) BETWEEN 1 AND 1024),
    -- When the first of the failures came since the last success; NULL after a success.
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

-- One row per attempt. `event_position` is NULL for a message that only tests the webhook.
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
