-- Indexes of large owners, as far as no table's name and no value stands in the statement itself; the
-- rest is made in mnemic/db/vector_index.py.

-- name: state
-- Whether the index of this name is valid; no row if there is none. One look-up by name.
SELECT indisvalid AS is_valid FROM pg_index WHERE indexrelid = to_regclass(%(qualified_name)s)

-- name: of_tenant
-- The tenant's own indexes on a model's table. They are told by their condition, which begins with the tenant.
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
-- Whether this session is now the one that builds. It asks and never waits inside a statement: a build
-- waits for every older snapshot, so also for that of a statement that would wait for the build.
SELECT pg_try_advisory_lock(hashtext('mnemic.vector_index')) AS is_ours

-- name: tune_build
-- Gives this session's builds memory and helpers.
SELECT
    set_config('maintenance_work_mem', %(memory_mb)s || 'MB', false),
    set_config('max_parallel_maintenance_workers', %(workers)s::text, false)

-- name: bound_statements
-- How long a statement of this session may take.
SELECT set_config('statement_timeout', %(timeout_ms)s::text, false)

-- name: progress
-- How many rows the build of a server process has taken in; no row when it builds nothing.
SELECT tuples_done FROM pg_stat_progress_create_index WHERE pid = %(pid)s

-- name: creation
-- What stands in the statement that makes an index: where the administrator has put pgvector, and the hash
-- that stands for the owner.
SELECT nspname, hashtextextended(%(owner)s, 0) AS owner_hash
FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
WHERE extname = 'vector'

-- name: nearest
-- The memories nearest to a vector; see mnemic.nearest.
SELECT memory_ids, cosines, mean, deviation, row_count
FROM mnemic.nearest_vectors(
    %(tenant_id)s, %(owner)s, %(table)s, %(vector)s::halfvec, %(index_name)s, %(ef_search)s, %(limit)s
)
