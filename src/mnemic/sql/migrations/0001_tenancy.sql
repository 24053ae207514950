-- Tenants, and how the database separates them.
--
-- Every transaction of the application states its tenant in the setting `mnemic.tenant` and proves it in
-- `mnemic.tenant_proof`: an HMAC-SHA-256 over the tenant and this transaction, made with a key that the
-- application's role cannot read. Every policy compares `tenant_id` with the tenant that
-- `mnemic.current_tenant()` has verified. Setting the tenant by hand gives NULL, and therefore no rows; a
-- proof that was observed in one transaction is worthless on another connection or in a later transaction.
--
-- Three roles, created before the first migration (see queries/provision.sql):
--   the migrator    runs `mnemic migrate`; owns schemas and tables
--   mnemic_app      holds the application's privileges; its login roles are members of it and own nothing
--   mnemic_definer  owns the SECURITY DEFINER functions; cannot log in, has no members

-- The four schemas for data. `mnemic` beside them holds the signing key, the records of migrations and
-- definitions, and the functions. It holds no memories, and the application can read no secret in it.
CREATE SCHEMA state;
CREATE SCHEMA vectors;
CREATE SCHEMA traces;
CREATE SCHEMA queue;
GRANT USAGE ON SCHEMA mnemic, state, vectors, traces, queue TO mnemic_app, mnemic_definer;

-- One row. The two blocks are the key XORed with HMAC's ipad and opad, so that HMAC-SHA-256 needs
-- only the built-in sha256() and no extension.
CREATE TABLE mnemic.signing_key (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    key bytea NOT NULL CHECK (octet_length(key) = 32),
    inner_block bytea NOT NULL CHECK (octet_length(inner_block) = 64),
    outer_block bytea NOT NULL CHECK (octet_length(outer_block) = 64)
);
GRANT SELECT ON mnemic.signing_key TO mnemic_definer;

CREATE TABLE state.tenants (
    tenant_id uuid PRIMARY KEY DEFAULT mnemic.new_id(),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 128 AND name !~ '[[:cntrl:]]'),
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX tenants_name ON state.tenants (name);
ALTER TABLE state.tenants ALTER COLUMN name SET STATISTICS 0;
COMMENT ON TABLE state.tenants IS 'Who shares this database, each behind a wall of its own.';
INSERT INTO state.tenants (name) VALUES ('default');
-- Its policies are in definitions/policies/tenants.sql: mnemic.protect() would let a tenant change its own row.
ALTER TABLE state.tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE state.tenants FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT ON state.tenants TO mnemic_app;
GRANT SELECT ON state.tenants TO mnemic_definer;
