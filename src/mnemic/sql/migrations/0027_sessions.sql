-- Sessions of the dashboard (govern/sessions.py).

-- A session lets a browser act as an API key, its parent: it has the role and the owner of that key, which are read from the
-- key's row, and ends with it. Only the SHA-256 of its secret is stored. A *link* is used once, to open a session. States:
-- *open* -> *ended*, when it expires, when its key expires or is revoked, or when its row is deleted (signed out, used, or
-- pushed out by a newer session of the same key). The rows are in `queue`, which is not exported: they belong to a server.
CREATE TABLE queue.sessions (
    tenant_id uuid NOT NULL,
    session_id uuid NOT NULL DEFAULT mnemic.new_id(),
    key_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('session', 'link')),
    secret_hash bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, session_id),
    FOREIGN KEY (tenant_id, key_id) REFERENCES state.api_keys ON DELETE CASCADE,
    CONSTRAINT ends_soon CHECK (
        expires_at > created_at
        AND expires_at <= created_at + CASE kind WHEN 'link' THEN interval '5 minutes' ELSE interval '12 hours' END
    )
);
COMMENT ON TABLE queue.sessions IS 'Sessions of browsers, and links that open one: hashes of their secrets, never the secrets.';
CREATE INDEX sessions_of_key ON queue.sessions (tenant_id, key_id, created_at DESC, session_id DESC);
-- For finding a session before its tenant is known. A hash index, so that it keeps no order of secrets.
CREATE INDEX sessions_hash ON queue.sessions USING hash (secret_hash);
CALL mnemic.protect('queue.sessions', 'SELECT, INSERT, DELETE');

-- For lists of acts by action, and by outcome.
CREATE INDEX audit_log_action ON traces.audit_log (tenant_id, action, at DESC, audit_id DESC);
CREATE INDEX audit_log_phase ON traces.audit_log (tenant_id, phase, at DESC, audit_id DESC);
