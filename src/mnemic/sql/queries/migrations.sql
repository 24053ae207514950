-- The migrations and definitions that a database has, and the lock that protects these records.

-- name: lock
-- Waits until no other process migrates this database. Held until the end of the transaction, so that it also works
-- behind a pooler.
SELECT pg_advisory_xact_lock(hashtext('mnemic.migrations'))

-- name: close_to_new_sessions
-- Lets new sessions wait until the migration has ended: each reads these tables before it is used.
LOCK TABLE mnemic.migrations, mnemic.definitions IN ACCESS EXCLUSIVE MODE

-- name: schema_digest
-- One checksum over all migrations and definitions of Mnemic itself (see mnemic/db/schema_version.py).
SELECT encode(sha256(convert_to(string_agg(line, E'\n' ORDER BY line COLLATE "C"), 'UTF8')), 'hex') AS digest
FROM (
    SELECT 'migration ' || number || ' ' || checksum AS line FROM mnemic.migrations WHERE set_name = 'mnemic'
    UNION ALL
    SELECT 'definition ' || name || ' ' || checksum FROM mnemic.definitions WHERE set_name = 'mnemic'
) AS recorded

-- name: other_processes
-- The processes connected to this database that expect another schema than the one with this digest. Versions before
-- sessions stated it are called just `mnemic`.
SELECT application_name AS name, array_agg(pid ORDER BY pid) AS backend_pids
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND (application_name = 'mnemic' OR application_name LIKE 'mnemic/%%')
  AND split_part(application_name, '/', 3) <> %(digest)s
GROUP BY application_name
ORDER BY application_name

-- name: disconnect
-- Ends sessions of this database.
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid = ANY (%(pids)s)

-- name: has_records
-- Whether this database was ever migrated, and whether it knows definitions.
SELECT
    to_regclass('mnemic.migrations') IS NOT NULL AS has_migrations,
    to_regclass('mnemic.definitions') IS NOT NULL AS has_definitions

-- name: applied
-- Every applied migration, in order.
SELECT set_name, number, title, checksum, applied_at, applied_by
FROM mnemic.migrations
ORDER BY set_name, number

-- name: record
-- Records a migration as applied, in the transaction that applies it.
INSERT INTO mnemic.migrations (set_name, number, title, checksum)
VALUES (%(set_name)s, %(number)s, %(title)s, %(checksum)s)

-- name: state_version
-- States the version that migrates, for the next query.
SELECT set_config('mnemic.migrated_by', %(version)s, true)

-- name: note_version
-- Notes that version in the comment of the schema mnemic, for versions that do not know the migrations.
DO $$
BEGIN
    EXECUTE format('COMMENT ON SCHEMA mnemic IS %L', current_setting('mnemic.migrated_by', true));
END
$$

-- name: migrated_by
-- The version that migrated this database last; NULL if it did not note it.
SELECT obj_description(to_regnamespace('mnemic'), 'pg_namespace') AS version

-- name: forget
-- Removes the records of a set's migrations, for carrying over the version before the baseline.
DELETE FROM mnemic.migrations WHERE set_name = %(set_name)s

-- name: definition_digests
-- One checksum over all definitions of each set: enough to see that nothing has changed.
SELECT
    set_name,
    encode(sha256(convert_to(
        string_agg(name || ' ' || checksum, E'\n' ORDER BY name COLLATE "C"), 'UTF8'
    )), 'hex') AS digest
FROM mnemic.definitions
GROUP BY set_name

-- name: definitions
-- Every applied definition with what it created.
SELECT set_name, name, checksum, objects FROM mnemic.definitions ORDER BY set_name, name

-- name: record_definitions
-- Records definitions as applied, in the transaction that applies them.
INSERT INTO mnemic.definitions (set_name, name, checksum, objects)
SELECT set_name, name, checksum, objects
FROM jsonb_to_recordset(%(rows)s) AS given (set_name text, name text, checksum text, objects text[])
ON CONFLICT (set_name, name) DO UPDATE
SET checksum = excluded.checksum, objects = excluded.objects, applied_at = now(), applied_by = current_user

-- name: forget_definition
-- Removes the record of a definition whose file is gone.
DELETE FROM mnemic.definitions WHERE set_name = %(set_name)s AND name = %(name)s

-- name: signatures
-- The functions and procedures that have one of these names, each as DROP ROUTINE takes it.
SELECT
    nspname || '.' || proname AS name,
    format('%%I.%%I(%%s)', nspname, proname, pg_get_function_identity_arguments(pg_proc.oid)) AS signature
FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
WHERE nspname || '.' || proname = ANY (%(names)s)
