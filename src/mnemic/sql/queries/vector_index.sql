-- Indexes of large owners. Statements that contain names of tables or values are composed in
-- mnemic/db/vector_index.py.

-- name: state
-- Whether the index of this name is valid; no row if there is none.
SELECT indisvalid AS is_valid FROM pg_index WHERE indexrelid = to_regclass(%(qualified_name)s)

-- name: of_tenant
-- The tenant's own indexes on a model's table, recognized by their condition, which begins with the tenant.
SELECT relname AS name, indisvalid AS is_valid, coalesce(pg_relation_size(indexrelid), 0) AS size_bytes
FROM pg_index
JOIN pg_class ON pg_class.oid = indexrelid
WHERE indrelid = to_regclass(%(qualified_table)s)
  AND starts_with(relname, %(prefix)s)
  AND starts_with(pg_get_expr(indpred, indrelid), format('((tenant_id = %%L::uuid)', %(tenant_id)s::text))
ORDER BY relname

-- name: count
-- How many indexes a model's table has for owners of all tenants.
SELECT count(*) AS index_count
FROM pg_index
JOIN pg_class ON pg_class.oid = indexrelid
WHERE indrelid = to_regclass(%(qualified_table)s) AND starts_with(relname, %(prefix)s)

-- name: try_lock
-- Whether this session is now the one that builds. It never waits within a statement: a build waits for every older
-- snapshot, including that of a statement that waits for the build.
SELECT pg_try_advisory_lock(hashtext('mnemic.vector_index')) AS is_ours

-- name: unlock
-- Releases the lock of builds, which this session holds.
SELECT pg_advisory_unlock(hashtext('mnemic.vector_index'))

-- name: tune_build
-- Sets memory and parallel workers for index builds of this session.
SELECT
    set_config('maintenance_work_mem', %(memory_mb)s || 'MB', false),
    set_config('max_parallel_maintenance_workers', %(workers)s::text, false)

-- name: bound_statements
-- Sets the statement timeout of this session.
SELECT set_config('statement_timeout', %(timeout_ms)s::text, false)

-- name: progress
-- The number of rows that a build has processed; no row if nothing is being built.
SELECT tuples_done FROM pg_stat_progress_create_index WHERE pid = %(pid)s

-- name: creation
-- Parts of the statement that creates an index: the schema of pgvector, and the hash of the owner.
SELECT nspname, hashtextextended(%(owner)s, 0) AS owner_hash
FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
WHERE extname = 'vector'

-- name: nearest
-- The memories nearest to a vector; see mnemic.nearest_vectors.
SELECT memory_ids, cosines, mean, deviation, row_count
FROM mnemic.nearest_vectors(
    %(tenant_id)s, %(owner)s, %(table)s, %(vector)s::halfvec, %(index_name)s, %(ef_search)s, %(limit)s
)
