-- Queries of `mnemic doctor`. They need only the application's privileges.

-- name: role
-- One row: whether the role could bypass row-level security.
SELECT
    session_user AS role,
    me.rolsuper AS is_superuser,
    me.rolbypassrls AS bypasses_policies
FROM pg_roles AS me
WHERE me.rolname = session_user

-- name: unprotected_tables
-- Tables of tenants that lack forced row-level security or a policy; there should be none.
SELECT format('%I.%I', nspname, relname) AS table_name
FROM pg_class
JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname IN ('state', 'vectors', 'traces', 'queue')
  AND relkind IN ('r', 'p')
  AND NOT (
      relrowsecurity AND relforcerowsecurity
      AND EXISTS (SELECT FROM pg_policy WHERE polrelid = pg_class.oid)
  )
ORDER BY 1

-- name: open_activity
-- How many functions show this role the activity of other tenants, or let it end their sessions; there should be none.
SELECT count(*) AS function_count FROM mnemic.open_activity_functions()

-- name: locale
-- The ctype of this database; whether its full-text search folds letters as Unicode does (Turkish maps I to ı) and
-- separates words at punctuation beyond ASCII; and the versions of its collation: the one that its indexes were built
-- with and the one that the server has now.
SELECT
    datctype AS ctype,
    to_tsvector('simple', '“É”—I') = '''é'':1 ''i'':2'::tsvector AS knows_letters,
    datcollversion AS built_version,
    pg_database_collation_actual_version(oid) AS server_version
FROM pg_database WHERE datname = current_database()

-- name: retention_lag
-- How far the time by which retention counts is behind the server's clock, in days; zero unless the clock has jumped.
SELECT extract(epoch FROM clock_timestamp() - mnemic.retention_time())::float8 / 86400 AS lag_days
