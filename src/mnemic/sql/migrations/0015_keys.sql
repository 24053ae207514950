-- API keys, and the answers that are kept so that a repeated request is not done twice.
--
-- A key belongs to a tenant, and where it has an `owner` works for that owner alone. Only its SHA-256 is
-- stored. It is *active* until it *expires* or is *revoked*; both end it for good, and whoever needs a key
-- again makes a new one. Who calls a server has a key and no tenant yet: `mnemic.find_key()` tells which
-- tenant it opens, to whoever can sign the hash of that very key.

CREATE TABLE state.api_keys (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    key_id uuid NOT NULL DEFAULT mnemic.new_id(),
    name text CHECK (char_length(name) BETWEEN 1 AND 256),
    role text NOT NULL CHECK (role IN ('read', 'write', 'admin')),
    owner text CHECK (char_length(owner) BETWEEN 1 AND 256),
    key_hash bytea NOT NULL CHECK (octet_length(key_hash) = 32),
    prefix text NOT NULL CHECK (char_length(prefix) BETWEEN 1 AND 16),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    PRIMARY KEY (tenant_id, key_id),
    CONSTRAINT admins_serve_the_whole_tenant CHECK (role <> 'admin' OR owner IS NULL),
    CONSTRAINT expires_after_it_begins CHECK (expires_at > created_at)
);
COMMENT ON TABLE state.api_keys IS 'Who may call a server, as what, and for whom; never the key, only its hash.';
CREATE INDEX api_keys_newest ON state.api_keys (tenant_id, created_at DESC, key_id DESC);
CREATE INDEX api_keys_owner ON state.api_keys (tenant_id, owner, created_at DESC, key_id DESC);
-- The one way to find a key before its tenant is known. By hashing, so that it holds no order of keys.
CREATE INDEX api_keys_hash ON state.api_keys USING hash (key_hash);
CALL mnemic.protect('state.api_keys', 'SELECT, INSERT');
GRANT UPDATE (revoked_at, last_used_at) ON state.api_keys TO mnemic_app;

-- The right to set `revoked_at` would also be one to clear it.
CREATE FUNCTION mnemic.refuse_reviving_key() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE check_violation USING MESSAGE = 'a revoked key stays revoked';
END
$$;
CREATE TRIGGER refuse_reviving_key BEFORE UPDATE ON state.api_keys FOR EACH ROW
WHEN (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
EXECUTE FUNCTION mnemic.refuse_reviving_key();

-- An import brings keys as history only: a file must not open the tenant that it is imported into. Imports
-- are what runs as mnemic_definer; restoring a backup does not, and keeps keys as they were.
CREATE FUNCTION mnemic.end_imported_key() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    NEW.revoked_at := now();
    RETURN NEW;
END
$$;
CREATE TRIGGER end_imported_key BEFORE INSERT ON state.api_keys FOR EACH ROW
WHEN (NEW.revoked_at IS NULL AND current_user = 'mnemic_definer')
EXECUTE FUNCTION mnemic.end_imported_key();

-- For the two functions below, which look before there is a tenant: they see the key whose hash was proved
-- and its tenant; and all keys, if the subject `any` was proved, which is no hash.
CREATE POLICY proven_key ON state.api_keys FOR SELECT TO mnemic_definer
USING (encode(key_hash, 'hex') = (SELECT mnemic.verified('key')) OR (SELECT mnemic.verified('key')) = 'any');
CREATE POLICY proven_key ON state.tenants FOR SELECT TO mnemic_definer
USING (
    EXISTS (
        SELECT FROM state.api_keys
        WHERE api_keys.tenant_id = tenants.tenant_id
          AND encode(api_keys.key_hash, 'hex') = (SELECT mnemic.verified('key'))
    )
);
GRANT SELECT ON state.tenants TO mnemic_definer;

-- The key that has this hash, with its tenant and whether it holds now; no row if there is none. Every request to a
-- server asks, so this is one statement that carries a signature and makes the proof itself (see 0011).
CREATE FUNCTION mnemic.find_key(hash text, signed text)
RETURNS TABLE (
    tenant_id uuid, tenant_name text, condition text, key_hash bytea, key_id uuid, name text, role text, owner text,
    prefix text, created_at timestamptz, expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (
        hash ~ '^[0-9a-f]{64}$' AND sha256(convert_to(signed, 'UTF8'))
        = sha256(convert_to(mnemic.signature('find', hash, mnemic.process()), 'UTF8'))
    ) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'finding a key needs a signature of its hash';
    END IF;
    PERFORM
        set_config('mnemic.key', hash, true),
        set_config('mnemic.key_proof', mnemic.signature('key', hash, mnemic.moment()), true);
    RETURN QUERY
    SELECT tenants.tenant_id, tenants.name,
        CASE
            WHEN api_keys.revoked_at IS NOT NULL THEN 'revoked'
            WHEN api_keys.expires_at <= statement_timestamp() THEN 'expired'
            ELSE 'active'
        END,
        api_keys.key_hash, api_keys.key_id, api_keys.name, api_keys.role, api_keys.owner, api_keys.prefix,
        api_keys.created_at, api_keys.expires_at, api_keys.revoked_at, api_keys.last_used_at
    FROM state.api_keys JOIN state.tenants ON tenants.tenant_id = api_keys.tenant_id
    WHERE api_keys.key_hash = decode(hash, 'hex');
END
$$;
CALL mnemic.seal('mnemic.find_key(text, text)');

-- Whether any tenant has a key that holds now: a server that others can reach needs one.
CREATE FUNCTION mnemic.has_keys() RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (mnemic.verified('key') = 'any') IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = 'looking for keys of all tenants needs a proof';
    END IF;
    RETURN EXISTS (
        SELECT FROM state.api_keys
        WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > statement_timestamp())
    );
END
$$;
CALL mnemic.seal('mnemic.has_keys()');

-- Requests that carried an `Idempotency-Key`. A row is *running* (no status yet) while the first of them is
-- done, then *done* with the answer that the others get. `request_hash` covers the route and the caller's
-- word, `body_hash` the body, so that the same word with other contents is noticed. `owner` is whom the
-- request was about, so that erasing him takes his answers away, too. Rows are forgotten after a day. They
-- stand in the chamber `queue`, of which nothing is exported: they answer requests to this very place.
CREATE TABLE queue.idempotent_requests (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    key_id uuid NOT NULL,
    request_hash bytea NOT NULL CHECK (octet_length(request_hash) = 32),
    owner text CHECK (char_length(owner) BETWEEN 1 AND 256),
    started_at timestamptz NOT NULL DEFAULT now(),
    attempt_id uuid NOT NULL,
    body_hash bytea CHECK (octet_length(body_hash) = 32),
    status smallint CHECK (status BETWEEN 200 AND 299),
    content_type text CHECK (char_length(content_type) <= 256),
    answer bytea CHECK (octet_length(answer) <= 8388608),
    PRIMARY KEY (tenant_id, key_id, request_hash),
    CONSTRAINT done_with_everything CHECK ((status IS NULL) = (body_hash IS NULL))
);
COMMENT ON TABLE queue.idempotent_requests IS 'Answers to requests that may be repeated, for a day.';
CREATE INDEX idempotent_requests_oldest ON queue.idempotent_requests (tenant_id, started_at);
CREATE INDEX idempotent_requests_owner ON queue.idempotent_requests (tenant_id, owner);
CALL mnemic.protect('queue.idempotent_requests');
