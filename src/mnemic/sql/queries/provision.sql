-- Prerequisites of the first migration: roles (which belong to the whole server, so that a backup of one database
-- does not contain them), the vector extension, and the tables that record migrations and definitions. Every
-- statement can be repeated. They run as the migrator.

-- name: needs
-- One row: what is missing, and whether the current role may create it.
SELECT
    current_user AS role,
    current_database() AS database,
    server.version AS server_version,
    me.rolsuper OR me.rolcreaterole AS may_create_roles,
    app.oid IS NULL AS lacks_app_role,
    definer.oid IS NULL AS lacks_definer_role,
    NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector') AS lacks_vector,
    (SELECT default_version FROM pg_available_extensions WHERE name = 'vector') AS vector_available,
    me.rolsuper
    OR EXISTS (
        SELECT FROM pg_available_extension_versions
        WHERE name = 'vector' AND trusted AND has_database_privilege(current_database(), 'CREATE')
    ) AS may_create_vector,
    has_database_privilege(current_database(), 'CREATE') AS may_create_schemas,
    -- From PostgreSQL 16 on, a role may be granted only by those who created it or administer it.
    me.rolsuper OR me.rolcreaterole AND (
        server.version < 160000 OR app.oid IS NULL OR pg_has_role(app.oid, 'MEMBER WITH ADMIN OPTION')
    ) AS may_grant_app,
    me.rolsuper OR me.rolcreaterole AND (
        server.version < 160000 OR definer.oid IS NULL OR pg_has_role(definer.oid, 'MEMBER WITH ADMIN OPTION')
    ) AS may_grant_definer,
    -- Membership alone is not enough from PostgreSQL 16 on: it may come without the right to SET ROLE.
    me.rolsuper OR coalesce(
        pg_has_role(definer.oid, CASE WHEN server.version < 160000 THEN 'MEMBER' ELSE 'SET' END), false
    ) AS is_definer
FROM pg_roles AS me
CROSS JOIN (SELECT current_setting('server_version_num')::int AS version) AS server
LEFT JOIN pg_roles AS app ON app.rolname = 'mnemic_app'
LEFT JOIN pg_roles AS definer ON definer.rolname = 'mnemic_definer'
WHERE me.rolname = current_user

-- name: make_app_role
-- Creates the role that holds the application's privileges. Two databases of one server may be migrated at the same
-- time, so an existing role is no error.
DO $$
BEGIN
    CREATE ROLE mnemic_app NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END
$$

-- name: make_definer_role
-- Creates the role that owns the SECURITY DEFINER functions.
DO $$
BEGIN
    CREATE ROLE mnemic_definer NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END
$$

-- name: make_vector_extension
-- Creates the extension pgvector.
CREATE EXTENSION IF NOT EXISTS vector

-- name: join_definer
-- Lets the migrator give functions to mnemic_definer, within the transaction of a migration.
GRANT mnemic_definer TO CURRENT_USER

-- name: leave_definer
-- Revokes that before the transaction commits, so that nobody can act as mnemic_definer.
REVOKE mnemic_definer FROM CURRENT_USER

-- name: make_housekeeping
-- Creates the schema and the tables that record which migrations and definitions this database has.
DO $$
BEGIN
    IF to_regclass('mnemic.migrations') IS NULL THEN
        CREATE SCHEMA IF NOT EXISTS mnemic;
        CREATE TABLE mnemic.migrations (
            set_name text NOT NULL,
            number int NOT NULL CHECK (number > 0),
            title text NOT NULL,
            checksum text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now(),
            applied_by text NOT NULL DEFAULT current_user,
            PRIMARY KEY (set_name, number)
        );
        GRANT USAGE ON SCHEMA mnemic TO mnemic_app;
        GRANT SELECT ON mnemic.migrations TO mnemic_app;
    END IF;
    IF to_regclass('mnemic.definitions') IS NULL THEN
        CREATE TABLE mnemic.definitions (
            set_name text NOT NULL,
            name text NOT NULL,
            checksum text NOT NULL,
            objects text[] NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now(),
            applied_by text NOT NULL DEFAULT current_user,
            PRIMARY KEY (set_name, name)
        );
        GRANT SELECT ON mnemic.definitions TO mnemic_app;
    END IF;
END
$$

-- name: make_signing_key
-- Stores the key that signs tenants, unless the database has one; returns whether it did.
WITH made AS (
    INSERT INTO mnemic.signing_key (key, inner_block, outer_block)
    VALUES (%(key)s, %(inner_block)s, %(outer_block)s)
    ON CONFLICT DO NOTHING
    RETURNING true
)
SELECT EXISTS (SELECT FROM made) AS made

-- name: make_login
-- Creates or renews the application's login.
CALL mnemic.make_login(%(login)s, %(verifier)s)

-- name: make_database
-- Creates the database of the embedded server.
CREATE DATABASE mnemic

-- name: has_mnemic
-- Whether this database has any schema of Mnemic.
SELECT EXISTS (
    SELECT FROM pg_namespace WHERE nspname IN ('mnemic', 'state', 'vectors', 'traces', 'queue')
) AS has_mnemic

-- name: database_exists
-- A row if the server has a database of this name.
SELECT datname FROM pg_database WHERE datname = %(name)s

-- name: disconnect
-- Ends the connections to a database of the server.
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %(name)s
