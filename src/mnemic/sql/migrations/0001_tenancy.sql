-- Tenants, and how the database itself keeps them apart.
--
-- Every transaction of the application states its tenant in the setting `mnemic.tenant` and proves
-- it in `mnemic.tenant_proof`: an HMAC-SHA-256 over the tenant and this very transaction, made with a key
-- that the application's role cannot read. Every policy compares `tenant_id` with what
-- `mnemic.current_tenant()` has verified. Setting the tenant by hand gives NULL, so no rows; a
-- proof heard in one transaction is worth nothing on another connection or a moment later.
--
-- Three roles, made before the first migration (see queries/provision.sql):
--   the migrator    whoever runs `mnemic migrate`; owns schemas and tables
--   mnemic_app      what the application may do; its login roles are members of it and own nothing
--   mnemic_definer  owns the SECURITY DEFINER functions; cannot log in, has no members

-- The four chambers. `mnemic` beside them is housekeeping: the key, the list of migrations, the
-- functions. It holds no memories and the application may read no secret in it.
CREATE SCHEMA state;
CREATE SCHEMA vectors;
CREATE SCHEMA traces;
CREATE SCHEMA queue;

GRANT USAGE ON SCHEMA mnemic, state, vectors, traces, queue TO mnemic_app, mnemic_definer;

-- UUIDv7 (RFC 9562): sorts by time of birth. PostgreSQL has its own from version 18 on.
CREATE FUNCTION mnemic.new_id() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN encode(
    set_bit(
        set_bit(
            overlay(
                uuid_send(gen_random_uuid())
                PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
                FROM 1 FOR 6
            ),
            52, 1
        ),
        53, 1
    ),
    'hex'
)::uuid;

-- One row. The two blocks are the key XORed with HMAC's ipad and opad, so that HMAC-SHA-256 needs
-- only the built-in sha256() and no extension.
CREATE TABLE mnemic.signing_key (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    key bytea NOT NULL CHECK (octet_length(key) = 32),
    inner_block bytea NOT NULL CHECK (octet_length(inner_block) = 64),
    outer_block bytea NOT NULL CHECK (octet_length(outer_block) = 64)
);
GRANT SELECT ON mnemic.signing_key TO mnemic_definer;

-- Which transaction this is, in words that no other transaction ever shares: one server process
-- begins one transaction at a time.
CREATE FUNCTION mnemic.moment() RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN pg_backend_pid() || '@' || (extract(epoch FROM transaction_timestamp()) * 1000000)::bigint;

-- What this transaction states in `mnemic.<purpose>`, or NULL when it states nothing or the proof
-- does not hold. The hashes are hashed once more before they are compared, so that the time it takes
-- tells nothing.
CREATE FUNCTION mnemic.verified(purpose text) RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    stated text := current_setting('mnemic.' || purpose, true);
    proof text := current_setting('mnemic.' || purpose || '_proof', true);
BEGIN
    RETURN (
        SELECT stated
        FROM mnemic.signing_key
        WHERE sha256(convert_to(proof, 'UTF8')) = sha256(convert_to(encode(sha256(
            signing_key.outer_block || sha256(
                signing_key.inner_block
                || convert_to(purpose || E'\n' || stated || E'\n' || mnemic.moment(), 'UTF8')
            )
        ), 'hex'), 'UTF8'))
    );
END
$$;

CREATE FUNCTION mnemic.current_tenant() RETURNS uuid
LANGUAGE sql STABLE PARALLEL RESTRICTED
RETURN mnemic.verified('tenant')::uuid;

-- For migrations, ours and those of extensions: put a table behind the tenant's wall. The table
-- needs a column `tenant_id uuid NOT NULL` and keys that start with it.
--
-- The planner's statistics hold values of all tenants, and the estimates that EXPLAIN shows give them
-- away, one comparison after the other. So a protected column has none, unless it is an id, a time, a
-- flag, a plain number or a word from a fixed list (CHECK … IN …). Where the planner needs more, and the
-- values are no secret, say afterwards: ALTER TABLE … ALTER COLUMN … SET STATISTICS -1.
CREATE PROCEDURE mnemic.protect(guarded regclass, privileges text DEFAULT 'SELECT, INSERT, UPDATE, DELETE')
LANGUAGE plpgsql
AS $$
DECLARE
    secret name;
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', guarded);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', guarded);
    -- The scalar sub-select makes PostgreSQL verify once per statement, not once per row. A policy for
    -- everybody, not for mnemic_app: whoever is in that role could drop its policies by DROP OWNED.
    EXECUTE format(
        'CREATE POLICY same_tenant ON %s'
        ' USING (tenant_id = (SELECT mnemic.current_tenant()))'
        ' WITH CHECK (tenant_id = (SELECT mnemic.current_tenant()))',
        guarded
    );
    EXECUTE format('GRANT %s ON %s TO mnemic_app', privileges, guarded);
    -- Erasure must reach everything, also what the application itself may not delete.
    EXECUTE format('GRANT SELECT, INSERT, DELETE ON %s TO mnemic_definer', guarded);
    FOR secret IN
        SELECT attname FROM pg_catalog.pg_attribute
        WHERE attrelid = guarded AND attnum > 0 AND NOT attisdropped
          AND atttypid <> ALL (
              ARRAY['uuid', 'bool', 'timestamptz', 'date', 'int2', 'int4', 'int8', 'float4', 'float8']::regtype[]
          )
          AND NOT EXISTS (
              SELECT FROM pg_catalog.pg_constraint
              WHERE conrelid = guarded AND contype = 'c' AND conkey = ARRAY[attnum]
                AND pg_catalog.pg_get_constraintdef(pg_constraint.oid) LIKE 'CHECK ((% = ANY (ARRAY[%'
          )
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 0', guarded, secret);
    END LOOP;
END
$$;

-- For migrations: give a SECURITY DEFINER function to mnemic_definer, and to `callers` the right
-- to call it.
CREATE PROCEDURE mnemic.seal(sealed regprocedure, callers text DEFAULT 'mnemic_app')
LANGUAGE plpgsql
AS $$
BEGIN
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', sealed);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', sealed, callers);
    GRANT CREATE ON SCHEMA mnemic TO mnemic_definer;
    EXECUTE format('ALTER FUNCTION %s OWNER TO mnemic_definer', sealed);
    REVOKE CREATE ON SCHEMA mnemic FROM mnemic_definer;
END
$$;

REVOKE ALL ON PROCEDURE mnemic.protect(regclass, text), mnemic.seal(regprocedure, text) FROM PUBLIC;

CALL mnemic.seal('mnemic.verified(text)', 'mnemic_app, mnemic_definer');

CREATE TABLE state.tenants (
    tenant_id uuid PRIMARY KEY DEFAULT mnemic.new_id(),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 128 AND name !~ '[[:cntrl:]]'),
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX tenants_name ON state.tenants (name);
ALTER TABLE state.tenants ALTER COLUMN name SET STATISTICS 0;
INSERT INTO state.tenants (name) VALUES ('default');
COMMENT ON TABLE state.tenants IS 'Who shares this database, each behind a wall of its own.';

-- A tenant sees itself. Finding or making one by name is for whoever can prove the purpose
-- `opening` for that name: Mnemic when it opens, never SQL smuggled into a tenant's transaction.
ALTER TABLE state.tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE state.tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY same_tenant ON state.tenants FOR SELECT
USING (tenant_id = (SELECT mnemic.current_tenant()) OR name = (SELECT mnemic.verified('opening')));
CREATE POLICY opening ON state.tenants FOR INSERT
WITH CHECK (name = (SELECT mnemic.verified('opening')));
GRANT SELECT, INSERT ON state.tenants TO mnemic_app;

-- A login for the application, when the migrator may create roles. `verifier` is the SCRAM form of
-- the password, so that the password itself never reaches the server's log.
CREATE PROCEDURE mnemic.make_login(login text, verifier text)
LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login) THEN
        EXECUTE format('CREATE ROLE %I LOGIN PASSWORD %L', login, verifier);
    ELSE
        EXECUTE format('ALTER ROLE %I LOGIN PASSWORD %L', login, verifier);
    END IF;
    EXECUTE format('GRANT mnemic_app TO %I', login);
EXCEPTION
    -- Another database of this server, migrated at the same moment, made it first.
    WHEN duplicate_object OR unique_violation THEN RETURN;
END
$$;
REVOKE ALL ON PROCEDURE mnemic.make_login(text, text) FROM PUBLIC;
