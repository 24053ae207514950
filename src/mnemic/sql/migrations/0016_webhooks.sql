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

-- Gives a webhook, of this owner unless that is NULL, a new secret; the old one stays beside it for `grace_s`
-- seconds, and one that was still beside the old one is gone. Returns whether there was such a webhook.
CREATE FUNCTION mnemic.rotate_webhook_secret(rotated uuid, of_owner text, new_secret text, grace_s int)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
BEGIN
    IF (mnemic.verified('maintenance') = verified_tenant::text) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'rotating a secret needs a proof of maintenance';
    END IF;
    UPDATE queue.webhooks
    SET secret = new_secret, updated_at = clock_timestamp(), previous_secret = secret,
        previous_secret_until = clock_timestamp() + make_interval(secs => grace_s)
    WHERE tenant_id = verified_tenant AND webhook_id = rotated AND (of_owner IS NULL OR owner = of_owner);
    RETURN FOUND;
END
$$;
CALL mnemic.seal('mnemic.rotate_webhook_secret(uuid, text, text, int)');

-- Forgets secrets that no message is signed with any more; returns how many.
CREATE FUNCTION mnemic.forget_webhook_secrets() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    forgotten bigint;
BEGIN
    IF (mnemic.verified('maintenance') = verified_tenant::text) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'forgetting secrets needs a proof of maintenance';
    END IF;
    UPDATE queue.webhooks SET previous_secret = NULL, previous_secret_until = NULL
    WHERE tenant_id = verified_tenant AND previous_secret_until <= clock_timestamp();
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    RETURN forgotten;
END
$$;
CALL mnemic.seal('mnemic.forget_webhook_secrets()');

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

-- Forgets attempts that are older than `keep_days` days, at most `most`; returns how many.
CREATE FUNCTION mnemic.drop_webhook_deliveries(keep_days int, most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    verified_tenant uuid := mnemic.current_tenant();
    dropped bigint;
BEGIN
    IF (mnemic.verified('maintenance') = verified_tenant::text) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'dropping deliveries needs a proof of maintenance';
    END IF;
    IF keep_days IS NULL OR keep_days < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'deliveries are kept for at least 1 day';
    END IF;
    DELETE FROM queue.webhook_deliveries
    WHERE tenant_id = verified_tenant AND delivery_id = ANY (ARRAY(
        SELECT old.delivery_id FROM queue.webhook_deliveries AS old
        WHERE old.tenant_id = verified_tenant AND old.at < now() - make_interval(days => keep_days)
        ORDER BY old.at LIMIT most
    ));
    GET DIAGNOSTICS dropped = ROW_COUNT;
    RETURN dropped;
END
$$;
CALL mnemic.seal('mnemic.drop_webhook_deliveries(int, int)');

-- For workers, who serve all tenants: which tenants have events that an enabled webhook has not been given yet. It
-- tells names of tenants to whoever proves the purpose `working`, and nothing to others.
CREATE POLICY serving_webhooks ON queue.webhooks FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified('working')) = 'queue');
CREATE POLICY serving_webhooks ON queue.event_inbox FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified('working')) = 'queue');
CREATE POLICY serving_webhooks ON queue.event_logs FOR SELECT TO mnemic_definer
USING ((SELECT mnemic.verified('working')) = 'queue');
CREATE FUNCTION mnemic.tenants_behind_webhooks(most int) RETURNS TABLE (tenant_id uuid, name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM mnemic.require_working();
    RETURN QUERY
    SELECT tenants.tenant_id, tenants.name
    FROM state.tenants
    WHERE tenants.tenant_id IN (
        SELECT webhooks.tenant_id
        FROM queue.webhooks
        WHERE webhooks.state = 'enabled' AND (
            EXISTS (SELECT FROM queue.event_inbox WHERE event_inbox.tenant_id = webhooks.tenant_id)
            OR EXISTS (
                SELECT FROM queue.event_logs
                WHERE event_logs.tenant_id = webhooks.tenant_id AND event_logs.last_position > webhooks."position"
            )
        )
    )
    -- Not always the same ones first.
    ORDER BY random()
    LIMIT most;
END
$$;
CALL mnemic.seal('mnemic.tenants_behind_webhooks(int)');
