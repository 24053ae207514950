-- Metrics events. Append-only.

-- name: append
-- Adds an event and returns it.
INSERT INTO state.metrics_events (tenant_id, owner, channel, process, kind, name, value, unit, metadata, at)
VALUES (%(tenant_id)s, %(owner)s, %(channel)s, %(process)s, %(kind)s, %(name)s, %(value)s, %(unit)s, %(metadata)s,
    coalesce(%(at)s::timestamptz, now()))
RETURNING event_id, owner, channel, process, kind, name, value, unit, metadata, at, recorded_at

-- name: summary
-- Count, mean and percentiles for each kind, name and unit of an owner in a window, the busiest first.
SELECT kind, name, unit, count(*) AS count, avg(value) AS mean,
    percentile_cont(0.50) WITHIN GROUP (ORDER BY value) AS p50,
    percentile_cont(0.95) WITHIN GROUP (ORDER BY value) AS p95,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY value) AS p99
FROM state.metrics_events
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
  AND at >= coalesce(%(since)s::timestamptz, '-infinity')
  AND at < coalesce(%(until)s::timestamptz, 'infinity')
  AND (%(channel)s::text IS NULL OR channel = %(channel)s)
  AND (%(kind)s::text IS NULL OR kind = %(kind)s)
  AND (%(name)s::text IS NULL OR name = %(name)s)
GROUP BY kind, name, unit
ORDER BY count(*) DESC, kind, name, unit
LIMIT %(limit)s
