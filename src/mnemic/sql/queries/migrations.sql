-- The list of migrations that a database has, and the lock under which it grows.

-- name: lock
-- Waits until no other process migrates this database. Held by the session.
SELECT pg_advisory_lock(hashtext('mnemic.migrations'))

-- name: unlock
-- Lets the next process have its turn.
SELECT pg_advisory_unlock(hashtext('mnemic.migrations'))

-- name: has_list
-- Whether this database was ever migrated.
SELECT to_regclass('mnemic.migrations') IS NOT NULL AS has_list

-- name: applied
-- Every applied migration, in order.
SELECT set_name, number, title, checksum, applied_at, applied_by
FROM mnemic.migrations
ORDER BY set_name, number

-- name: record
-- Notes a migration as applied, in the transaction that applies it.
INSERT INTO mnemic.migrations (set_name, number, title, checksum)
VALUES (%(set_name)s, %(number)s, %(title)s, %(checksum)s)
