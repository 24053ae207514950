-- Connections: their roles, their transactions, and how they are cleaned.

-- name: who
-- One row: the role of this connection and its privileges, read once when a database is opened.
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
     WHERE extname = 'vector') AS app_may_create_in_vector_schema,
    current_setting('server_version') AS server_version,
    (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector_version
FROM pg_roles AS me
WHERE me.rolname = session_user

-- name: signing_key
-- The key that signs tenants; only an administrator's role may read it.
SELECT key FROM mnemic.signing_key

-- name: own_settings
-- Stored settings of this connection's login, one row per database; normally none.
SELECT setdatabase
FROM pg_db_role_setting
JOIN pg_roles ON pg_roles.oid = setrole
WHERE rolname = session_user

-- name: forget_own_settings
-- Removes them for all databases. Open connections keep them until they end.
DO $$
DECLARE
    scope text;
BEGIN
    -- pgvector is loaded when first used, and before that PostgreSQL does not reset its settings.
    PERFORM '[0]'::vector;
    FOR scope IN
        SELECT CASE WHEN datname IS NULL THEN '' ELSE format('IN DATABASE %I', datname) END
        FROM pg_db_role_setting
        JOIN pg_roles ON pg_roles.oid = setrole
        LEFT JOIN pg_database ON pg_database.oid = setdatabase
        WHERE rolname = session_user
    LOOP
        EXECUTE format('ALTER ROLE SESSION_USER %s RESET ALL', scope);
    END LOOP;
END
$$

-- name: begin
-- Begins, and returns the identity of this transaction for proofs, in one round trip.
BEGIN;
SELECT mnemic.transaction_identity() AS moment

-- name: begin_snapshot
-- The same for a transaction whose queries share one snapshot.
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
-- The identity of this connection's backend process, for signatures.
SELECT mnemic.backend_identity() AS process

-- name: backend_pid
-- The process id of the backend. Behind a pooler it differs from the one that the connection was greeted with.
SELECT pg_backend_pid() AS pid

-- name: set
-- Sets settings of the session.
SELECT set_config(name, setting, false)
FROM unnest(%(names)s::text[], %(settings)s::text[]) AS given (name, setting)

-- name: half_vectors
-- The type of pgvector's half-precision vectors and of arrays of them; their oids differ between servers.
SELECT pg_type.oid, typarray AS array_oid
FROM pg_extension JOIN pg_type ON typnamespace = extnamespace
WHERE extname = 'vector' AND typname = 'halfvec'

-- name: make_tenant
-- Creates the tenant whose opening was proved, unless it exists.
INSERT INTO state.tenants (name) VALUES (%(name)s) ON CONFLICT (name) DO NOTHING

-- name: find_tenant
-- The tenant whose opening was proved: its id, and which default schedules it has been given.
SELECT tenant_id, default_schedules FROM state.tenants WHERE name = %(name)s

-- name: clean
-- Removes everything that a transaction may have left on its connection: cursors, settings, temporary tables,
-- listens, locks. The last statement counts statements that were prepared by SQL: the driver prepares by protocol,
-- so there is none unless injected SQL left one for the next tenant.
CLOSE ALL;
UNLISTEN *;
RESET ROLE;
RESET ALL;
DISCARD TEMP;
DISCARD SEQUENCES;
SELECT pg_advisory_unlock_all();
SELECT count(*) AS leftover_statements FROM pg_prepared_statements WHERE from_sql

-- name: commit_and_clean
-- Commits, returns the requested wakeups (see mnemic.request_wakeup), then does the same as `clean`, in one round
-- trip. A commit that fails ends it there.
COMMIT;
SELECT current_setting('mnemic.wakeups', true) AS wakeups;
CLOSE ALL;
UNLISTEN *;
RESET ROLE;
RESET ALL;
DISCARD TEMP;
DISCARD SEQUENCES;
SELECT pg_advisory_unlock_all();
SELECT count(*) AS leftover_statements FROM pg_prepared_statements WHERE from_sql

-- name: notify
-- Sends a wakeup to the listeners of a channel. In a transaction of its own, since NOTIFY serializes commits and
-- this one has nothing to write.
SELECT pg_notify(%(channel)s, '')

-- name: extend_timeout
-- Allows the statements of this transaction more time than others have: they read or write all rows of an owner, or
-- wait for another large call. The client's limit is LONG_STATEMENT_S in db/answering_connection.py.
SET LOCAL statement_timeout = '1h'

-- name: reset_timeout
-- Ends what `extend_timeout` began.
SET LOCAL statement_timeout TO DEFAULT
