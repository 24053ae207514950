-- Connections: who they are, whose transaction they carry, and how they are cleaned.

-- name: who
-- One row: what the role of this connection is and may do, asked once when a database is opened.
SELECT
    session_user AS role,
    me.rolsuper AS is_superuser,
    me.rolbypassrls AS bypasses_policies,
    to_regrole('mnemic_app') IS NOT NULL AND pg_has_role('mnemic_app', 'MEMBER') AS is_app,
    has_schema_privilege(to_regnamespace('mnemic'), 'USAGE') AS may_enter,
    EXISTS (
        SELECT FROM pg_class
        WHERE relnamespace = to_regnamespace('mnemic') AND relname = 'signing_key'
          AND has_schema_privilege(relnamespace, 'USAGE') AND has_table_privilege(oid, 'SELECT')
    ) AS reads_key,
    EXISTS (
        SELECT FROM pg_class
        WHERE relnamespace IN (
            to_regnamespace('mnemic'), to_regnamespace('state'), to_regnamespace('vectors'),
            to_regnamespace('traces'), to_regnamespace('queue')
        ) AND pg_has_role(relowner, 'MEMBER')
    ) AS owns_tables,
    (SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace ON extnamespace = pg_namespace.oid
     WHERE extname = 'vector') AS vector_schema,
    (SELECT has_schema_privilege(to_regrole('mnemic_app'), extnamespace, 'USAGE') FROM pg_extension
     WHERE extname = 'vector') AS app_finds_vector,
    (SELECT has_schema_privilege(to_regrole('mnemic_app'), extnamespace, 'CREATE') FROM pg_extension
     WHERE extname = 'vector') AS app_may_plant,
    current_setting('server_version') AS server_version,
    (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector_version
FROM pg_roles AS me
WHERE me.rolname = session_user

-- name: signing_key
-- The key that signs tenants; only an administrator's role may read it.
SELECT key FROM mnemic.signing_key

-- name: own_settings
-- One row for each place where settings for the login of this connection are stored; normally none.
SELECT setdatabase
FROM pg_db_role_setting
JOIN pg_roles ON pg_roles.oid = setrole
WHERE rolname = session_user

-- name: forget_own_settings
-- Takes them away, for all databases. Whoever has them now keeps them until the connection ends.
DO $$
DECLARE
    place text;
BEGIN
    -- pgvector is loaded when first used, and before that PostgreSQL does not reset its settings.
    PERFORM '[0]'::vector;
    FOR place IN
        SELECT CASE WHEN datname IS NULL THEN '' ELSE format('IN DATABASE %I', datname) END
        FROM pg_db_role_setting
        JOIN pg_roles ON pg_roles.oid = setrole
        LEFT JOIN pg_database ON pg_database.oid = setdatabase
        WHERE rolname = session_user
    LOOP
        EXECUTE format('ALTER ROLE SESSION_USER %s RESET ALL', place);
    END LOOP;
END
$$

-- name: begin
-- Begins, and returns how the database names this transaction in proofs; one round trip for both.
BEGIN;
SELECT mnemic.transaction_identity() AS moment

-- name: begin_snapshot
-- The same for a transaction whose queries all see one moment.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT mnemic.transaction_identity() AS moment

-- name: prove
-- States a purpose's subject (see mnemic/db/tenancy.py) and its proof, for this transaction only.
SELECT
    set_config('mnemic.' || %(purpose)s::text, %(subject)s, true),
    set_config('mnemic.' || %(purpose)s::text || '_proof', %(proof)s, true)

-- name: holds
-- Whether the proof of a purpose holds, in the transaction that stated it.
SELECT mnemic.verified_claim(%(purpose)s) IS NOT NULL AS holds

-- name: process
-- How the database names the server process of this connection in signatures.
SELECT mnemic.backend_identity() AS process

-- name: half_vectors
-- The type of pgvector's vectors of half precision, and of arrays of them, which every server numbers otherwise.
SELECT pg_type.oid, typarray AS array_oid
FROM pg_extension JOIN pg_type ON typnamespace = extnamespace
WHERE extname = 'vector' AND typname = 'halfvec'

-- name: make_tenant
-- Makes the tenant whose opening was proved, unless it exists.
INSERT INTO state.tenants (name) VALUES (%(name)s) ON CONFLICT (name) DO NOTHING

-- name: find_tenant
-- The id of the tenant whose opening was proved.
SELECT tenant_id FROM state.tenants WHERE name = %(name)s

-- name: clean
-- Takes away whatever a transaction may have left on its connection: cursors, settings, temporary
-- tables, listens, locks. The last statement counts the statements that were prepared by SQL: the
-- driver prepares by protocol, so there is none unless somebody planted it for the next tenant.
CLOSE ALL;
UNLISTEN *;
RESET ROLE;
RESET ALL;
DISCARD TEMP;
DISCARD SEQUENCES;
SELECT pg_advisory_unlock_all();
SELECT count(*) AS planted FROM pg_prepared_statements WHERE from_sql

-- name: commit_and_clean
-- Commits, tells what the transaction left as hints (see mnemic/db/wakeups.py), then does what `clean` does; one
-- round trip for all of it. A commit that fails ends it there.
COMMIT;
SELECT current_setting('mnemic.hints', true) AS hints;
CLOSE ALL;
UNLISTEN *;
RESET ROLE;
RESET ALL;
DISCARD TEMP;
DISCARD SEQUENCES;
SELECT pg_advisory_unlock_all();
SELECT count(*) AS planted FROM pg_prepared_statements WHERE from_sql

-- name: notify
-- Wakes whoever listens on a channel. In a transaction of its own, since NOTIFY makes commits wait for each other, and
-- this one has nothing to write.
SELECT pg_notify(%(channel)s, '')
