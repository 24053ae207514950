-- Tenants: listing them and deleting one. An administrator whom row-level security does not bind runs these.

-- name: list
-- Tenants by name, a page at a time.
SELECT tenant_id, name, created_at FROM state.tenants WHERE name > %(after)s ORDER BY name LIMIT %(limit)s

-- name: lock
-- The id of a tenant, whose row stays locked until the transaction ends: rows that refer to it have to wait.
SELECT tenant_id FROM state.tenants WHERE name = %(name)s FOR UPDATE

-- name: tables
-- Every table with rows of tenants, except the list of tenants; those that refer to others first.
WITH RECURSIVE ours AS (
    SELECT pg_class.oid, nspname, relname
    FROM pg_class
    JOIN pg_namespace ON pg_namespace.oid = relnamespace
    JOIN pg_attribute ON attrelid = pg_class.oid AND attname = 'tenant_id' AND NOT attisdropped
    WHERE nspname IN ('state', 'vectors', 'traces', 'queue') AND relkind IN ('r', 'p') AND NOT relispartition
      AND pg_class.oid <> 'state.tenants'::regclass
),
levels AS (
    SELECT ours.oid, 0 AS depth FROM ours
    UNION
    SELECT conrelid, levels.depth + 1
    FROM levels JOIN pg_constraint ON contype = 'f' AND confrelid = levels.oid AND conrelid <> confrelid
    WHERE conrelid IN (SELECT ours.oid FROM ours)
)
SELECT nspname AS schema_name, relname AS table_name
FROM ours JOIN levels ON levels.oid = ours.oid
GROUP BY nspname, relname
ORDER BY max(levels.depth) DESC, nspname, relname

-- name: vector_indexes
-- The vector indexes of a tenant's owners, of every model. Their condition begins with the tenant.
SELECT relname AS name
FROM pg_index
JOIN pg_class ON pg_class.oid = indexrelid
WHERE relnamespace = 'vectors'::regnamespace
  AND starts_with(pg_get_expr(indpred, indrelid), format('((tenant_id = %%L::uuid)', %(tenant_id)s::text))
ORDER BY relname

-- name: delete
-- Deletes a tenant that has no rows left.
DELETE FROM state.tenants WHERE tenant_id = %(tenant_id)s
