-- The memory log: writes and reads, a row per call, a partition per day. Append-only.

-- name: write
-- Adds a row; creates the day's partition if it is missing.
SELECT mnemic.write_memory_log(ROW(
    %(tenant_id)s, mnemic.new_id(), coalesce(%(logged_at)s::timestamptz, clock_timestamp()), %(owner)s, %(channel)s,
    %(process)s, %(conversation)s, %(operation)s, %(memory_count)s, %(duration_ms)s, %(detail)s
)::traces.memory_log)

-- name: cursor
-- The pagination cursor of a row: its sort key.
SELECT logged_at AS before_at, log_id AS before_id
FROM traces.memory_log
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND log_id = %(before)s

-- name: list
-- The calls of an owner, newest first, starting after the cursor (before_at, before_id).
SELECT log_id, logged_at, owner, channel, process, conversation, operation, memory_count, duration_ms, detail
FROM traces.memory_log
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
  AND logged_at >= coalesce(%(since)s::timestamptz, '-infinity')
  AND logged_at < coalesce(%(until)s::timestamptz, 'infinity')
  AND (logged_at, log_id) < (coalesce(%(before_at)s::timestamptz, 'infinity'), %(before_id)s::uuid)
  AND (%(operation)s::text IS NULL OR operation = %(operation)s)
ORDER BY logged_at DESC, log_id DESC
LIMIT %(limit)s
