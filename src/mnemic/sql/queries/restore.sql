-- Catalog of a database that a restore builds and fills: only objects of our own migrations are in it.

-- name: tables
-- Tables outside of the system's schemas, without those of PostgreSQL extensions, and the columns that take values.
SELECT
    pg_class.oid,
    nspname AS schema_name,
    relname AS table_name,
    relkind = 'p' AS is_partitioned,
    relforcerowsecurity AS forces_policies,
    ARRAY(
        SELECT attname::text FROM pg_attribute
        WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
    ) AS columns
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE relkind IN ('r', 'p') AND nspname <> 'information_schema' AND NOT starts_with(nspname, 'pg_')
  AND NOT EXISTS (
      SELECT FROM pg_depend
      WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e'
  )

-- name: foreign_keys
-- The foreign keys of these tables, each with the clause that adds it again.
SELECT conrelid AS oid, conname AS name, pg_get_constraintdef(pg_constraint.oid) AS clause
FROM pg_constraint
WHERE contype = 'f' AND conparentid = 0 AND conrelid = ANY (%(oids)s::oid[])
ORDER BY conrelid, conname

-- name: sequences
-- The sequences that belong to columns of these tables.
SELECT nspname AS schema_name, relname AS sequence_name
FROM pg_depend
JOIN pg_class ON pg_class.oid = objid AND relkind = 'S'
JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE classid = 'pg_class'::regclass AND refclassid = 'pg_class'::regclass AND deptype IN ('a', 'i')
  AND refobjid = ANY (%(oids)s::oid[])

-- name: set_sequence
-- Sets the last value of a sequence.
SELECT setval(format('%%I.%%I', %(schema)s::text, %(sequence)s::text)::regclass, %(value)s, %(is_used)s)

-- name: create_vector_table
-- Creates the table of an embedding model; returns its name.
SELECT mnemic.create_vector_table(%(model)s, %(dimensions)s) AS table_name

-- name: create_log_partition
-- Creates a day of the memory log, unless it exists.
SELECT mnemic.create_log_partition(%(day)s::date)
