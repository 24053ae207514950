-- Revenue events: exact amounts. Append-only.

-- name: append
-- Adds an event and returns it.
INSERT INTO state.revenue_events (tenant_id, owner, channel, process, amount, currency, source, description, metadata, at)
VALUES (%(tenant_id)s, %(owner)s, %(channel)s, %(process)s, %(amount)s, %(currency)s, %(source)s, %(description)s, %(metadata)s,
    coalesce(%(at)s::timestamptz, now()))
RETURNING event_id, owner, channel, process, amount, currency, source, description, metadata, at, recorded_at

-- name: cursor
-- The pagination cursor of a row: its sort key.
SELECT at AS before_at, event_id AS before_id
FROM state.revenue_events
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s AND event_id = %(before)s

-- name: list
-- Events of an owner, newest first, starting after the cursor (before_at, before_id).
SELECT event_id, owner, channel, process, amount, currency, source, description, metadata, at, recorded_at
FROM state.revenue_events
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
  AND at >= coalesce(%(since)s::timestamptz, '-infinity')
  AND at < coalesce(%(until)s::timestamptz, 'infinity')
  AND (at, event_id) < (coalesce(%(before_at)s::timestamptz, 'infinity'), %(before_id)s::uuid)
  AND (%(channel)s::text IS NULL OR channel = %(channel)s)
  AND (%(currency)s::text IS NULL OR currency = %(currency)s)
ORDER BY at DESC, event_id DESC
LIMIT %(limit)s

-- name: totals
-- The sum of an owner's events per currency.
SELECT currency, sum(amount) AS total, count(*) AS count
FROM state.revenue_events
WHERE tenant_id = %(tenant_id)s AND owner = %(owner)s
  AND at >= coalesce(%(since)s::timestamptz, '-infinity')
  AND at < coalesce(%(until)s::timestamptz, 'infinity')
  AND (%(channel)s::text IS NULL OR channel = %(channel)s)
GROUP BY currency
ORDER BY currency
