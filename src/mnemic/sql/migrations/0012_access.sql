-- Access: grants between owners, API keys, and idempotent requests.

-- A grant lets one owner (`granted_to`) recall memories of another (`owner`) within its scope; a NULL in the scope means no
-- restriction. A grant is *active* until it expires or is revoked, and then *ended* for good. It is never changed otherwise,
-- and deleted only when one of the two owners is erased.
CREATE TABLE state.grants (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    grant_id uuid NOT NULL DEFAULT mnemic.new_id(),
    owner text NOT NULL CHECK (char_length(owner) BETWEEN 1 AND 256),
    granted_to text NOT NULL CHECK (char_length(granted_to) BETWEEN 1 AND 256),
    channel text CHECK (char_length(channel) BETWEEN 1 AND 256),
    categories text[] CHECK (
        cardinality(categories) BETWEEN 1 AND 7 AND categories <@ ARRAY[
            'factual', 'preference', 'behavioral', 'episodic', 'procedural', 'reference', 'prospective'
        ]
    ),
    tags text[] CHECK (cardinality(tags) BETWEEN 1 AND 64 AND mnemic.are_tags(tags)),
    conversation text CHECK (char_length(conversation) BETWEEN 1 AND 256),
    expires_at timestamptz,
    process text NOT NULL CHECK (char_length(process) BETWEEN 1 AND 256),
    reason text CHECK (char_length(reason) BETWEEN 1 AND 1024),
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    revoking_reason text CHECK (char_length(revoking_reason) BETWEEN 1 AND 1024),
    PRIMARY KEY (tenant_id, grant_id),
    CONSTRAINT between_two_owners CHECK (owner <> granted_to),
    CONSTRAINT expires_after_it_begins CHECK (expires_at > created_at),
    CONSTRAINT reasons_come_with_the_revocation CHECK (revoking_reason IS NULL OR revoked_at IS NOT NULL)
);
COMMENT ON TABLE state.grants IS 'Who may recall whose memories, within which scope and until when.';
-- For recall, which looks up in every call whose memories this owner may read.
CREATE INDEX grants_readable ON state.grants (tenant_id, granted_to) WHERE revoked_at IS NULL;
CREATE INDEX grants_given ON state.grants (tenant_id, owner, created_at DESC, grant_id DESC);
CREATE INDEX grants_received ON state.grants (tenant_id, granted_to, created_at DESC, grant_id DESC);
CALL mnemic.protect('state.grants', 'SELECT, INSERT');
GRANT UPDATE (revoked_at, revoking_reason) ON state.grants TO mnemic_app;

-- API keys. A key belongs to a tenant and, if it has an `owner`, works for that owner only. Only its SHA-256 is stored. It is
-- *active* until it *expires* or is *revoked*, both for good. A request to a server carries a key and no tenant:
-- `mnemic.find_key()` returns the tenant, to a caller that can sign the hash of that key.
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
-- For finding a key before its tenant is known. A hash index, so that it keeps no order of keys.
CREATE INDEX api_keys_hash ON state.api_keys USING hash (key_hash);
CALL mnemic.protect('state.api_keys', 'SELECT, INSERT');
GRANT UPDATE (revoked_at, last_used_at) ON state.api_keys TO mnemic_app;

-- Requests with an `Idempotency-Key`. A row is *running* (no status yet) while the first request is processed, then *done*
-- with the response that repeated requests get. `request_hash` covers the route and the key, `body_hash` the body, so that
-- the same key with another body is noticed. `owner` is the owner of the request, so that erasing it deletes its responses.
-- Rows are deleted after a day. They are in `queue`, which is not exported: they belong to this server.
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
